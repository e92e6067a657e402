import { useState } from 'react'
import { type SavedView, setView, useView } from '../app/view'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field } from '../ui/Field'
import { Menu, type MenuGroup } from '../ui/Menu'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { addressOf, textOf, without, withView } from './saved'
import type { Go, TaskSearch } from './search'

const words = texts.tasks.saved
const longest = 60

/** The menu of saved views. */
export function SavedViews({ search, view, go }: { search: TaskSearch; view: 'board' | 'table'; go: Go }) {
  const { saved } = useView()
  const [asking, setAsking] = useState(false)
  const now = textOf(search, view)
  const current = saved.find(v => v.name === search.saved)
  const changed = current !== undefined && textOf(addressOf(current), addressOf(current).view ?? 'board') !== now
  const label = current === undefined ? words.label : changed ? words.changed(current.name) : current.name
  const keep = (name: string) => {
    setView({ saved: withView(saved, { name, search: now }) })
    go({ saved: name, view }, true)
    say(words.kept(name))
  }
  const forget = (gone: SavedView) => {
    setView({ saved: without(saved, gone.name) })
    go({ saved: undefined }, true)
    say(words.forgotten(gone.name), () => setView({ saved: withView(saved, gone) }))
  }
  const groups = (): MenuGroup[] => [
    ...(saved.length > 0
      ? [
          {
            items: saved.map(v => ({
              id: v.name,
              label: v.name,
              checked: v === current && !changed,
              onSelect: () => go(addressOf(v)),
            })),
          },
        ]
      : []),
    {
      items: [
        ...(current && changed
          ? [{ id: '+', label: words.update(current.name), icon: 'check' as const, onSelect: () => keep(current.name) }]
          : []),
        { id: '++', label: words.save, icon: 'plus', onSelect: () => setAsking(true) },
        ...(current
          ? [{ id: '-', label: words.forget(current.name), icon: 'close' as const, onSelect: () => forget(current) }]
          : []),
      ],
    },
  ]
  return (
    <>
      <Menu
        groups={groups}
        trigger={
          <Button aria-label={current ? `${words.label}: ${label}` : words.label} className="max-w-48" icon="bookmark">
            <bdi className="hidden truncate lg:inline">{label}</bdi>
          </Button>
        }
      />
      <Dialog onClose={() => setAsking(false)} open={asking} title={words.title}>
        <Ask
          known={saved}
          onKeep={name => {
            setAsking(false)
            keep(name)
          }}
        />
      </Dialog>
    </>
  )
}

function Ask({ known, onKeep }: { known: readonly SavedView[]; onKeep: (name: string) => void }) {
  const [name, setName] = useState('')
  const typed = name.trim()
  return (
    <SubmitForm onSend={() => typed && onKeep(typed)}>
      <Field
        autoComplete="off"
        help={known.some(v => v.name === typed) ? words.again : words.help}
        label={words.name}
        maxLength={longest}
        onChange={e => setName(e.target.value)}
        required
        value={name}
      />
      <div className="flex justify-end">
        <Button look="primary" type="submit">
          {words.submit}
        </Button>
      </div>
    </SubmitForm>
  )
}
