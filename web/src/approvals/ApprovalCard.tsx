import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { money } from '../app/format'
import { rereadSoon } from '../app/live/patches'
import { approvals as words } from '../texts/approvals'
import { Button } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { say, sayFailed } from '../ui/toast'
import { Answer } from '../ui/Views'
import { type Approval, approvalQuery } from './queries'
import { RequestFrame } from './RequestFrame'

/** An approval: the exact command, what helps to decide, and the decisions that the runtime offers. */
export function ApprovalCard({ id, onDone }: { id: string; onDone?: () => void }) {
  const asked = useQuery(approvalQuery(id))
  return (
    <Answer of={asked} what={words.what}>
      {a => <Card a={a} {...(onDone ? { onDone } : {})} />}
    </Answer>
  )
}

function Card({ a, onDone }: { a: Approval; onDone?: () => void }) {
  const cache = useQueryClient()
  const sending = useMutation({
    mutationFn: (decision: 'allow-once' | 'allow-always' | 'deny') =>
      take(
        api.POST('/api/v1/approvals/{id}/answer', {
          params: { path: { id: a.id } },
          body: { decision, shown: a.shown },
        }),
      ),
    onSuccess: () => {
      say(words.done)
      onDone?.()
    },
    onError: err => sayFailed(err, words.couldNot),
    onSettled: () => rereadSoon(cache, ['approvals']),
  })
  // Where something speaks against the command, neither answer is suggested.
  const risky = a.action.risks.length > 0
  const look = (decision: string) =>
    decision === 'allow-always' ? 'quiet' : risky ? 'plain' : decision === 'deny' ? 'danger' : 'primary'
  const buttons = (
    <div className="flex flex-wrap items-center gap-2">
      {inOrder(a.decisions).map(d => (
        <Button
          busy={sending.isPending}
          className={d === 'allow-always' ? 'ml-auto' : ''}
          key={d}
          look={look(d)}
          onClick={() => sending.mutate(d as 'deny')}
        >
          {words.decisions[d] ?? d}
        </Button>
      ))}
      {a.decisions.includes('allow-always') && <p className="basis-full text-soft text-xs">{words.always}</p>}
    </div>
  )
  return (
    <RequestFrame buttons={buttons} kind={a.action.command ? 'command' : 'action'} of={a}>
      <Content a={a} />
    </RequestFrame>
  )
}

/** Allowing always comes last, because it decides about later commands too. */
const inOrder = (decisions: readonly string[]) =>
  decisions.toSorted((a, b) => Number(a === 'allow-always') - Number(b === 'allow-always'))

function Content({ a }: { a: Approval }) {
  const { command, title, directory, executable, scope, detail, risks } = a.action
  const facts: [string, string][] = [
    [words.directory, directory],
    [words.executable, executable],
    [words.scope, scope],
    [words.spent, a.spent_usd ? money(a.spent_usd) : ''],
  ]
  return (
    <>
      {title && (
        <p className="wrap-anywhere font-medium">
          <bdi>{title}</bdi>
        </p>
      )}
      {(command || detail) && (
        <pre className="wrap-anywhere max-h-60 overflow-y-auto whitespace-pre-wrap rounded-md bg-hover px-3 py-2">
          <bdi>{command || detail}</bdi>
        </pre>
      )}
      {risks.map(r => (
        <p className="flex gap-2 rounded-md bg-attention-tint px-3 py-2 text-attention" key={r}>
          <Icon className="mt-0.5" name="warning" />
          <bdi className="wrap-anywhere min-w-0">{r}</bdi>
        </p>
      ))}
      <dl className="grid grid-cols-[6rem_1fr] gap-x-3 gap-y-1">
        {facts
          .filter(([, text]) => text)
          .map(([name, text]) => (
            <div className="contents" key={name}>
              <dt className="text-soft">{name}</dt>
              <dd className="wrap-anywhere">
                <bdi>{text}</bdi>
              </dd>
            </div>
          ))}
      </dl>
      {a.earlier.length > 0 && (
        <div>
          <p className="text-soft">{words.earlier}</p>
          <ul>
            {a.earlier.map(e => (
              <li key={e.id}>
                {words.decisions[e.decision] ?? e.decision} · <bdi>{e.by.name}</bdi>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
