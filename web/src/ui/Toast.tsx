import { Toast as Base } from '@base-ui/react/toast'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { buttonClass, IconButton } from './Button'
import { Icon } from './Icon'

const manager = Base.createToastManager()

/** Says in passing what was done, and how to undo it. */
export function say(title: string, undo?: () => void): void {
  const id = manager.add({
    title,
    timeout: undo ? 8000 : 4000,
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

/** Says what could not be done. It stays until it is closed: nobody should miss it. */
export function sayFailed(error: unknown, what?: string): void {
  const problem = asProblem(error)
  manager.add({
    title: what ?? problem.title,
    description: what ? `${problem.title} ${problem.detail}` : problem.detail,
    type: 'error',
    timeout: 0,
    priority: 'high',
  })
}

function List() {
  const { toasts } = Base.useToastManager()
  return toasts.map(toast => (
    <Base.Root
      key={toast.id}
      className="hairline flex items-start gap-2 rounded-md bg-raised py-2 pr-1.5 pl-3 text-ink text-sm"
      swipeDirection="right"
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

/** Where what is said in passing appears. Once, around everything. */
export function Toasts() {
  return (
    <Base.Provider limit={3} toastManager={manager}>
      <Base.Portal>
        <Base.Viewport className="fixed right-3 bottom-16 z-[60] flex w-[calc(100vw-24px)] max-w-sm flex-col gap-2 md:bottom-3">
          <List />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  )
}
