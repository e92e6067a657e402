import { schedules as scheduleTexts } from '../texts/schedules'
import { Button } from '../ui/Button'
import { type Difference, type Draft, diff, diffLines, rebase } from './draft'
import { Wide } from './Small'

const words = scheduleTexts.form
const value = 'wrap-anywhere min-w-32 py-1.5 pr-4 align-top whitespace-pre-wrap'

/** The changes by field; the message line by line. */
export function Changes({ of }: { of: readonly Difference[] }) {
  if (of.length === 0) return <p>{words.nothing}</p>
  const short = of.filter(d => d.field !== 'message')
  const message = of.find(d => d.field === 'message')
  return (
    <div className="flex flex-col gap-3">
      {short.length > 0 && (
        <Wide heads={[words.field, words.from, words.to]} label={words.changes}>
          {short.map(d => (
            <tr key={d.field} className="border-line border-t">
              <th className="py-1.5 pr-4 text-left align-top font-normal text-soft" scope="row">
                {d.label}
              </th>
              <td className={value}>
                <del className="no-underline">
                  <bdi>{d.from || '–'}</bdi>
                </del>
              </td>
              <td className={`${value} font-medium`}>
                <ins className="no-underline">
                  <bdi>{d.to || '–'}</bdi>
                </ins>
              </td>
            </tr>
          ))}
        </Wide>
      )}
      {message && <Lines of={message} />}
    </div>
  )
}

const grounds = { '+': 'bg-active-tint', '−': 'bg-danger-tint', ' ': '' } as const

function Lines({ of }: { of: Difference }) {
  return (
    <section aria-label={of.label}>
      <h3 className="font-medium text-soft text-xs">
        {of.label}. {words.lines}
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable */}
      <pre className="hairline mt-1 max-h-72 overflow-auto rounded-md font-mono text-xs" tabIndex={0}>
        {diffLines(of.from, of.to).map((l, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no IDs and are rendered as a whole
          <div key={i} className={`wrap-anywhere flex gap-2 px-2 whitespace-pre-wrap ${grounds[l.mark]}`}>
            <span className="w-2 shrink-0 select-none">{l.mark}</span>
            <bdi className="min-w-0">{l.text}</bdi>
          </div>
        ))}
      </pre>
    </section>
  )
}

interface ConflictProps {
  /** The job when the form was opened. */
  read: Draft
  theirs: Draft
  yours: Draft
  busy: boolean
  onTheirs: () => void
  onOverwrite: () => void
}

/** A conflict: the job when the form was opened, the current job, and the user's version. */
export function Conflict({ read, theirs, yours, busy, onTheirs, onOverwrite }: ConflictProps) {
  const changed = new Map([...diff(read, theirs), ...diff(read, yours)].map(d => [d.field, d.label]))
  // Saving applies the user's changes on top of the current job. This shows the result.
  const wanted = rebase(read, theirs, yours)
  return (
    <div className="flex flex-col gap-3">
      <p className="text-attention" role="alert">
        {words.conflict}
      </p>
      <Wide heads={[words.field, words.read, words.theirs, words.yours]} label={words.changes}>
        {[...changed].map(([field, label]) => (
          <tr key={field} className="border-line border-t">
            <th className="py-1.5 pr-4 text-left align-top font-normal text-soft" scope="row">
              {label}
            </th>
            {[read, theirs, wanted].map((d, i) => (
              <td key={[words.read, words.theirs, words.yours][i]} className={value}>
                <bdi>{d[field] || '–'}</bdi>
              </td>
            ))}
          </tr>
        ))}
      </Wide>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onTheirs}>{words.takeTheirs}</Button>
        <Button busy={busy} look="danger" onClick={onOverwrite}>
          {words.overwrite}
        </Button>
      </div>
    </div>
  )
}
