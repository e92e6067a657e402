import { base } from '../app/base'
import { useMe } from '../app/queries'
import { session } from '../app/session'
import { setView, useView, type View } from '../app/view'
import { texts } from '../texts'
import { LazyMenu } from '../ui/LazyMenu'

const words = texts.app
const themes: { id: View['theme']; icon: 'screen' | 'sun' | 'moon' }[] = [
  { id: 'system', icon: 'screen' },
  { id: 'light', icon: 'sun' },
  { id: 'dark', icon: 'moon' },
]

/** Whether there is likely a keyboard. */
const hasKeys = typeof matchMedia !== 'function' || !matchMedia('(hover: none)').matches

/** Returns up to two initials. A remote avatar would reveal the user to its host. */
const initials = (name: string): string =>
  name
    .split(/[\s._-]+/)
    .slice(0, 2)
    .map(part => [...part][0] ?? '')
    .join('')
    .toUpperCase() || '?'

export function UserMenu({ onKeys }: { onKeys: () => void }) {
  const me = useMe().data
  const view = useView()
  const name = me?.name ?? words.me
  return (
    <LazyMenu
      groups={[
        {
          label: me ? `${me.name} · ${me.email} · ${me.role}` : words.me,
          items: [
            ...(hasKeys ? [{ id: 'keys', label: words.keys.title, icon: 'keyboard' as const, onSelect: onKeys }] : []),
            {
              id: 'docs',
              label: words.apiDocs,
              icon: 'link',
              onSelect: () => window.open(`${base}/api/docs`, '_blank', 'noopener'),
            },
          ],
        },
        {
          label: words.theme,
          items: themes.map(t => ({
            id: t.id,
            label: words.themes[t.id],
            icon: t.icon,
            checked: view.theme === t.id,
            onSelect: () => setView({ theme: t.id }),
          })),
        },
        {
          items: [
            ...(hasKeys
              ? [
                  {
                    id: 'single',
                    label: words.singleKeys,
                    icon: 'keyboard' as const,
                    checked: view.keys,
                    onSelect: () => setView({ keys: !view.keys }),
                  },
                ]
              : []),
            { id: 'out', label: words.signOut, icon: 'out', onSelect: session.signOut },
          ],
        },
      ]}
      trigger={
        <button
          aria-label={`${words.me}: ${name}`}
          className="flex size-7 shrink-0 items-center justify-center rounded-full bg-accent-tint font-semibold text-accent text-xs pointer-coarse:size-9"
          title={name}
          type="button"
        >
          {initials(name)}
        </button>
      }
    />
  )
}
