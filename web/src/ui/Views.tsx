import type { ReactNode } from 'react'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { Age } from './Age'
import { Button } from './Button'
import { Guarded } from './Guarded'
import { Icon, type IconName } from './Icon'

/** An empty state: what appears here, and the next step. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon?: IconName
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-4 py-12 text-center">
      {icon && <Icon className="size-6 text-soft" name={icon} />}
      <h2 className="font-semibold text-base">{title}</h2>
      {children && <div className="text-soft">{children}</div>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  )
}

/** An error from the server with a retry button. A 403 shows who is allowed instead, a 404 only what is gone. */
export function Failed({ error, again, what }: { error: unknown; again?: () => void; what?: string }) {
  const problem = asProblem(error)
  if (problem.status === 403) return <NotAllowed detail={problem.detail} />
  if (problem.status === 404)
    return (
      <div role="alert">
        <Empty icon="search" title={problem.title}>
          {problem.detail}
        </Empty>
      </div>
    )
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-2 px-4 py-10 text-center" role="alert">
      <Icon className="size-6 text-danger" name="error" />
      {what && <p className="text-soft">{what}</p>}
      <h2 className="font-semibold text-base">{problem.title}</h2>
      {problem.detail && <p className="wrap-anywhere text-soft">{problem.detail}</p>}
      {problem.requestId && (
        <p className="text-soft text-xs">
          {texts.ui.requestId} <span className="key select-all">{problem.requestId}</span>
        </p>
      )}
      {again && (
        <Button className="mt-2" icon="reload" onClick={again}>
          {texts.ui.tryAgain}
        </Button>
      )}
    </div>
  )
}

export function NotAllowed({ detail }: { detail: string }) {
  return (
    <Empty icon="blocked" title={texts.ui.notAllowed}>
      {detail}
    </Empty>
  )
}

/** A banner above stale data, with its age. */
export function Stale({ since, error }: { since: number; error: unknown }) {
  return (
    <p className="flex flex-wrap items-center gap-1.5 bg-attention-tint px-3 py-1 text-attention text-xs" role="status">
      <Icon className="size-3.5" name="clock" />
      {asProblem(error).title} {texts.ui.shownIsFrom} <Age at={new Date(since).toISOString()} /> {texts.ui.ago}
    </p>
  )
}

/** A banner above incomplete data. */
export function Partial({ children }: { children: ReactNode }) {
  return (
    <p className="flex items-center gap-1.5 bg-attention-tint px-3 py-1 text-attention text-xs" role="status">
      <Icon className="size-3.5" name="warning" />
      {children}
    </p>
  )
}

/** Placeholder rows while data loads. */
export function Skeleton({ rows = 8, label }: { rows?: number; label: string }) {
  return (
    <div aria-busy="true" className="flex flex-col gap-2 p-3">
      <span className="sr-only" role="status">
        {label}
      </span>
      {Array.from({ length: rows }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same
        <div key={i} className={`skeleton h-6 ${i % 3 === 2 ? 'w-2/3' : 'w-full'}`} />
      ))}
    </div>
  )
}

interface Asked<T> {
  data: T | undefined
  error: unknown
  isPending: boolean
  dataUpdatedAt: number
  refetch: () => unknown
}

/** Calls a render function within the boundary around it. */
function Drawn<T>({ data, children }: { data: T; children: (data: T) => ReactNode }) {
  return children(data)
}

/** Renders a query: loading, failed, or loaded. Loaded data stays visible if a refetch fails. */
export function Answer<T>({
  of,
  what,
  rows,
  children,
}: {
  of: Asked<T>
  what: string
  rows?: number
  children: (data: T) => ReactNode
}) {
  if (of.data !== undefined) {
    return (
      <>
        {of.error ? <Stale error={of.error} since={of.dataUpdatedAt} /> : null}
        <Guarded resetKey={of.data}>
          <Drawn data={of.data}>{children}</Drawn>
        </Guarded>
      </>
    )
  }
  if (of.error)
    return <Failed again={() => void of.refetch()} error={of.error} what={`${texts.ui.couldNotLoad} ${what}.`} />
  return <Skeleton label={`${texts.ui.loading} ${what}`} {...(rows ? { rows } : {})} />
}

/** A button that shows the rows that arrived meanwhile; nothing if there are none. */
export function NewRows({ count, onShow }: { count: number; onShow: () => void }) {
  if (count === 0) return null
  return (
    <div className="flex shrink-0 justify-center py-1">
      <Button icon="up" onClick={onShow}>
        {texts.ui.newRows(count)}
      </Button>
    </div>
  )
}

/** An empty state of a filtered list, with the button that clears the filters. */
export function NoneFit({ title, clear, onClear }: { title: string; clear: string; onClear: () => void }) {
  return <Empty action={<Button onClick={onClear}>{clear}</Button>} icon="filter" title={title} />
}
