import { useCallback, useMemo, useState } from 'react'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { MenuButton, useSharedMenu } from '../ui/SharedMenu'
import { Chip } from '../ui/State'
import { Table, type TableColumn } from '../ui/Table'
import { useActions } from './actions'
import { Due, Holder, PriorityMark, StatusMark } from './Bits'
import { Bulk } from './Bulk'
import { costOf } from './dispatch'
import type { TaskSearch } from './search'
import { sorted, type TaskCard } from './task'

const words = texts.tasks
const f = words.fields

interface Props {
  tasks: readonly TaskCard[]
  people: ReadonlyMap<string, Person>
  sort: NonNullable<TaskSearch['sort']>
  opened: string | undefined
  onSort: (sort: NonNullable<TaskSearch['sort']>) => void
  onOpen: (key: string) => void
}

/** The tasks as a table, with bulk changes. */
export function TaskTable({ tasks, people, sort, opened, onSort, onOpen }: Props) {
  const rows = useMemo(() => sorted(tasks, sort), [tasks, sort])
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const { menu } = useActions()
  const [onMenu, shared] = useSharedMenu()
  const toggle = useCallback((t: TaskCard) => {
    setSelected(was => {
      const next = new Set(was)
      if (!next.delete(t.id)) next.add(t.id)
      return next
    })
  }, [])
  const columns = useMemo<TableColumn<TaskCard>[]>(
    () => [
      {
        id: 'key',
        label: f.key,
        width: '6rem',
        sort: 'key',
        card: 'plain',
        cell: t => <span className="key text-soft">{t.key}</span>,
      },
      {
        id: 'title',
        label: f.title,
        width: 'minmax(12rem,1fr)',
        sort: 'title',
        card: 'name',
        cell: t => (
          <span className="@container flex min-w-0 grow items-center gap-1.5">
            <bdi className="truncate font-medium max-sm:line-clamp-2 max-sm:whitespace-normal" title={t.title}>
              {t.title}
            </bdi>
            {/* On narrow screens the title gets the room. */}
            <span className="hidden shrink-0 gap-1.5 @min-[24rem]:flex">
              {t.tags?.slice(0, 2).map(tag => (
                <Chip key={tag}>{tag}</Chip>
              ))}
            </span>
          </span>
        ),
      },
      {
        id: 'status',
        label: f.status,
        width: '7.5rem',
        sort: 'status',
        card: 'plain',
        cell: t => (
          <span className="flex gap-1.5">
            <StatusMark blocked={t.blocked} of={t.status} />
            {t.blocked && <Age at={t.blocked.since} className="text-soft" of={f.blocked} />}
          </span>
        ),
      },
      {
        id: 'priority',
        label: f.priority,
        width: '6rem',
        sort: 'priority',
        card: 'plain',
        cell: t => <PriorityMark of={t.priority} />,
      },
      {
        id: 'assignee',
        label: f.assignee,
        width: '8rem',
        card: 'plain',
        cell: t => (
          // On a phone the due date needs the room of the name.
          <span className="flex min-w-0 max-sm:[&_bdi]:sr-only">
            <Holder of={t.assignee_id} people={people} />
          </span>
        ),
      },
      {
        id: 'age',
        label: f.age,
        width: '6rem',
        sort: 'age',
        card: 'none',
        cell: t => <Age at={t.moved_at} of={f.age} />,
      },
      { id: 'due', label: f.due, width: '10.5rem', sort: 'due', card: 'plain', cell: t => <Due task={t} /> },
      { id: 'cost', label: words.cost, width: '5.5rem', card: 'none', number: true, cell: t => costOf(t) ?? '–' },
      {
        id: 'menu',
        label: '',
        width: '3rem',
        cell: t => <MenuButton groups={() => menu(t, null)} label={words.actions(t.key)} onMenu={onMenu} />,
      },
    ],
    [people, menu, onMenu],
  )
  const chosen = useMemo(() => rows.filter(t => selected.has(t.id)), [rows, selected])
  return (
    <>
      <Table
        columns={columns}
        idOf={t => t.id}
        label={texts.app.places.tasks}
        nameOf={t => t.key}
        onOpen={t => onOpen(t.key)}
        onSelect={toggle}
        onSort={s => onSort(s as NonNullable<TaskSearch['sort']>)}
        opened={t => t.key === opened}
        rows={rows}
        selected={selected}
        sort={sort}
      />
      {chosen.length > 0 && <Bulk onNone={() => setSelected(new Set())} people={people} tasks={chosen} />}
      {shared}
    </>
  )
}
