import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine'
import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { attachClosestEdge, type Edge, extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { Link } from '@tanstack/react-router'
import { memo, useEffect, useRef, useState } from 'react'
import { DecideButton, ReviewActions } from '../acting/ReviewActions'
import type { AskTask } from '../acting/useTaskDialogs'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { Keys } from '../ui/Keys'
import type { MenuGroup } from '../ui/Menu'
import { MenuButton, type OpenMenu } from '../ui/SharedMenu'
import { Badge, State } from '../ui/State'
import { Due, Holder, PriorityMark } from './Bits'
import { costOf } from './dispatch'
import type { TaskCard } from './task'

const words = texts.tasks

interface Props {
  task: TaskCard
  people: ReadonlyMap<string, Person>
  opened: boolean
  /** Whether a run on this task is in progress. */
  running: boolean
  /** Takes the focus when this number changes and is above 0. */
  focus: number
  onFocus: () => void
  onTake: (offer: number) => boolean
  onOpen: (key: string) => void
  onAsk: AskTask
  menu: () => readonly MenuGroup[]
  onMenu: OpenMenu
}

/** Where a dragged card would be inserted, relative to this one. */
function useDrag(task: TaskCard) {
  const ref = useRef<HTMLElement>(null)
  const [edge, setEdge] = useState<Edge | null>(null)
  const [dragged, setDragged] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const data = { kind: 'task', id: task.id, status: task.status }
    return combine(
      draggable({
        element,
        getInitialData: () => data,
        onDragStart: () => setDragged(true),
        onDrop: () => setDragged(false),
      }),
      dropTargetForElements({
        element,
        canDrop: ({ source }) => source.data.kind === 'task',
        getData: ({ input }) => attachClosestEdge(data, { element, input, allowedEdges: ['top', 'bottom'] }),
        onDrag: ({ self, source }) => setEdge(source.data.id === task.id ? null : extractClosestEdge(self.data)),
        onDragLeave: () => setEdge(null),
        onDrop: () => setEdge(null),
      }),
    )
  }, [task.id, task.status])
  return { ref, edge, dragged }
}

export const Card = memo(
  function Card({ task, people, opened, running, focus, onFocus, onTake, onOpen, onAsk, menu, onMenu }: Props) {
    const { ref, edge, dragged } = useDrag(task)
    const cost = costOf(task)
    useEffect(() => {
      if (focus > 0 && onTake(focus)) ref.current?.querySelector('a')?.focus()
    }, [focus, onTake, ref])
    return (
      <article
        ref={ref}
        className={`group @container relative rounded-md border bg-ground p-2 ${opened ? 'border-accent' : 'border-line hover:border-line-strong'} ${dragged ? 'opacity-50' : ''}`}
        onFocus={onFocus}
      >
        {edge && <span className={`absolute inset-x-0 h-0.5 bg-accent ${edge === 'top' ? '-top-1' : '-bottom-1'}`} />}
        <div className="flex items-start gap-1">
          <Link
            className="wrap-anywhere line-clamp-3 grow font-medium after:absolute after:inset-0"
            data-task={task.key}
            draggable={false}
            onClick={e => {
              if (e.metaKey || e.ctrlKey || e.shiftKey) return
              e.preventDefault()
              onOpen(task.key)
            }}
            from="/tasks"
            preload={false}
            search={was => ({ ...was, task: task.key })}
            to="/tasks"
          >
            <bdi>
              <Keys>{task.title}</Keys>
            </bdi>
          </Link>
          <span className="relative z-10 -my-1 -mr-1 shrink-0 pointer-coarse:-mt-2 pointer-coarse:-mr-2 pointer-fine:opacity-0 focus-within:opacity-100 group-hover:opacity-100">
            <MenuButton groups={menu} label={words.actions(task.key)} onMenu={onMenu} />
          </span>
        </div>
        {task.blocked && (
          <p className="mt-1 flex gap-1 text-danger text-xs" title={task.blocked.reason}>
            <Icon className="mt-px size-3.5" name="blocked" />
            <span className="wrap-anywhere line-clamp-2">
              <span className="sr-only">{words.fields.blocked}: </span>
              <bdi>{task.blocked.reason}</bdi>
            </span>
          </p>
        )}
        {task.waiting_on > 0 && (
          <p className="mt-1 text-xs">
            <State icon="dependency" tone="attention">
              {words.waits(task.waiting_on)}
            </State>
          </p>
        )}
        <Facts task={task} />
        <p className="mt-1.5 flex min-h-5 items-center gap-1.5 text-soft text-xs">
          <Holder of={task.assignee_id} people={people} />
          <span aria-hidden="true">·</span>
          {task.blocked ? (
            <span className="shrink-0">
              {words.blockedFor.toLowerCase()} <Age at={task.blocked.since} of={words.fields.blocked} />
            </span>
          ) : (
            <Age at={task.moved_at} className="shrink-0" of={words.fields.age} say="for" />
          )}
          <span className="ml-auto flex shrink-0 items-center gap-2.5">
            {task.comment_count > 0 && (
              <span className="inline-flex items-center gap-0.5" title={words.comments}>
                <Icon className="size-3.5" name="comment" />
                {task.comment_count}
              </span>
            )}
            {running && <Badge tone="active">{words.running}</Badge>}
            {cost !== null && (
              <span className="hidden @min-[13rem]:block" title={words.cost}>
                {cost}
              </span>
            )}
          </span>
        </p>
        {task.status === 'review' && (
          // Above the link that covers the card.
          <div className="*:px-1! relative z-10 mt-2 grid grid-cols-2 gap-1.5">
            <ReviewActions quiet onSendBack={() => onAsk('sendBack', task.key)} task={task} />
          </div>
        )}
        {task.blocked && task.status !== 'review' && (
          <div className="relative z-10 mt-2 flex *:grow empty:hidden">
            <DecideButton onDecide={() => onAsk('decide', task.key)} task={task.key} />
          </div>
        )}
      </article>
    )
  },
  // The callbacks differ on each render but do the same.
  (a, b) =>
    a.task === b.task &&
    a.people === b.people &&
    a.opened === b.opened &&
    a.running === b.running &&
    a.focus === b.focus,
)

/** Key, priority, and due date on one line. A narrow card leaves out minor words. */
function Facts({ task }: { task: TaskCard }) {
  return (
    <p className="mt-1 flex h-4 items-center gap-x-1.5 overflow-hidden whitespace-nowrap text-soft text-xs">
      <span className="key">{task.key}</span>
      <PriorityMark brief of={task.priority} />
      <Due brief task={task} />
    </p>
  )
}
