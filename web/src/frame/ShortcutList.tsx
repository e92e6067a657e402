import { bindings } from '../app/keys'
import { useView } from '../app/view'
import { texts } from '../texts'
import { Dialog } from '../ui/Dialog'

const words = texts.app.keys

/** The shortcuts that are active now. */
export function ShortcutList({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { keys } = useView()
  // When a key is bound twice, the latest binding counts.
  const list = open ? [...new Map(bindings().map(b => [b.keys, b])).values()] : []
  return (
    <Dialog onClose={onClose} open={open} title={words.title} wide>
      {!keys && <p className="mb-3 text-attention">{words.off}</p>}
      <dl className="grid grid-cols-1 gap-x-8 sm:grid-cols-2">
        {list.map(b => (
          <div key={b.keys} className="flex h-8 items-center justify-between gap-4 border-line border-b">
            <dt>{b.label}</dt>
            <dd className="flex items-center gap-1">
              {b.keys.split(/[ +]/).map(k => (
                <kbd key={k} className="hairline min-w-6 rounded-sm bg-panel px-1.5 text-center font-mono text-xs">
                  {k === 'mod' ? 'Ctrl ⌘' : k}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
