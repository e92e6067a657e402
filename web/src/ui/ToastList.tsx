import { Toast as Base } from '@base-ui/react/toast'
import { useEffect } from 'react'
import { texts } from '../texts'
import { buttonClass, IconButton } from './Button'
import { Icon } from './Icon'
import { type Said, take } from './toast'

const manager = Base.createToastManager()

function show({ title, description, undo, failed }: Said): void {
  const id = manager.add({
    title,
    ...(description ? { description } : {}),
    ...(failed ? { type: 'error', timeout: 0, priority: 'high' as const } : { timeout: undo ? 8000 : 4000 }),
    ...(undo
      ? {
          actionProps: {
            children: texts.ui.undo,
            onClick: () => {
              manager.close(id)
              undo()
            },
          },
        }
      : {}),
  })
}

function List() {
  const { toasts } = Base.useToastManager()
  // After the effects of this render, when the list has subscribed to the manager.
  useEffect(() => {
    const timer = setTimeout(() => take(show))
    return () => clearTimeout(timer)
  }, [])
  return toasts.map(toast => (
    <Base.Root
      key={toast.id}
      // Toasts beyond the limit are hidden until there is room.
      className="hairline flex items-start gap-2 rounded-md bg-raised py-2 pr-1.5 pl-3 text-ink text-sm shadow-raised transition-[opacity,translate] duration-150 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0 data-limited:hidden"
      swipeDirection="left"
      toast={toast}
    >
      <Icon
        className={`mt-1 ${toast.type === 'error' ? 'text-danger' : 'text-active'}`}
        name={toast.type === 'error' ? 'error' : 'check'}
      />
      <div className="min-w-0 grow py-1">
        <Base.Title className="wrap-anywhere" render={<p />} />
        <Base.Description className="wrap-anywhere text-soft" />
      </div>
      {toast.actionProps && <Base.Action className={buttonClass('plain')} />}
      <Base.Close render={<IconButton icon="close" label={texts.ui.close} />} />
    </Base.Root>
  ))
}

export function ToastList() {
  return (
    <Base.Provider limit={3} toastManager={manager}>
      <Base.Portal>
        {/* Above the bottom bar of a phone, and above a field for messages. */}
        <Base.Viewport className="fixed bottom-[calc(4rem+env(safe-area-inset-bottom))] left-3 z-[60] flex w-[calc(100vw-24px)] max-w-sm flex-col gap-2 md:bottom-3 [html:has([data-composer])_&]:bottom-42 md:[html:has([data-composer])_&]:bottom-28">
          <List />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  )
}
