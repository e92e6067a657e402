import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useApprove } from '../acting/useApprove'
import { useWhyNotReview } from '../acting/useWhyNotReview'
import { api, take } from '../api/client'
import { useGatewayLacks } from '../app/gatewayLacks'
import { rereadSoon } from '../app/live/patches'
import { leads, useMe } from '../app/queries'
import { mainKey } from '../sessions/outbox'
import { type Limit, limitsQuery } from '../spend/limitQueries'
import { useHold } from '../standups/actions'
import { acting } from '../texts/acting'
import { approvals } from '../texts/approvals'
import { inbox as inboxWords } from '../texts/inbox'
import { Button, buttonClass } from '../ui/Button'
import type { IconName } from '../ui/Icon'
import { sessionHref, TextLink } from '../ui/TextLink'
import { say, sayFailed } from '../ui/toast'
import { actsOf, reviewOf, type Told } from './item'
import type { ActName } from './kinds'
import type { ItemActions } from './useItemActions'
import { useLimitOf } from './useLimitOf'

const words = inboxWords.acts

/** A button of an item: with `href`, a link. */
interface Act {
  label: string
  /** What it does, as a tooltip. */
  help?: string
  icon?: IconName
  busy?: boolean
  href?: string
  /** Why it can't be done now. */
  not?: string | null
  /** Whether it ends something for good. */
  ends?: true
  run?: () => void
}

/** Returns what each action does to an item. */
function useActs(item: Told, verbs: ItemActions, limit: Limit | undefined): Record<ActName, Act> {
  const cache = useQueryClient()
  const hold = useHold()
  const approve = useApprove()
  const whyNot = useWhyNotReview()
  const not = item.kind === 'task_review' ? whyNot(reviewOf(item)) : null
  const lacks = useGatewayLacks()
  const { id, name } = item.subject
  const params = { path: { id } }
  const onError = (err: unknown) => sayFailed(err, words.couldNot)
  const runJob = useMutation({
    mutationFn: () => take(api.POST('/api/v1/agentrt/jobs/{id}/run', { params })),
    onSuccess: () => {
      say(words.ran(name))
      rereadSoon(cache, ['now', 'slots'])
    },
    onError,
  })
  const dispatch = useMutation({
    mutationFn: () => take(api.POST('/api/v1/tasks/{id}/dispatch', { params })),
    onSuccess: () => say(words.dispatched(name)),
    onError,
  })
  const allow = useMutation({
    mutationFn: () => take(api.POST('/api/v1/limits/{id}/allow', { params, body: { amount: '2' } })),
    onSuccess: () => {
      say(words.allowed)
      return cache.invalidateQueries(limitsQuery)
    },
    onError,
  })
  return {
    decide: { label: acting.decide.button, help: acting.decide.means, icon: 'comment', run: () => verbs.decide(item) },
    approve: {
      label: acting.approve.button,
      icon: 'check',
      busy: approve.isPending,
      not,
      run: () => approve.mutate(reviewOf(item)),
    },
    sendBack: { label: acting.sendBack.button, not, run: () => verbs.sendBack(item) },
    runJob: {
      label: words.runJob,
      icon: 'reload',
      busy: runJob.isPending,
      not: lacks.jobs,
      run: () => runJob.mutate(),
    },
    openRun: { label: words.openRun, href: sessionHref(item.run?.session_key ?? '') },
    dispatch: {
      label: words.dispatch,
      icon: 'reload',
      busy: dispatch.isPending,
      not: lacks.ever,
      run: () => dispatch.mutate(),
    },
    retryStandup: {
      label: words.retryStandup,
      icon: 'reload',
      busy: hold.isPending,
      not: lacks.runs,
      run: () => hold.mutate({ id, team: '' }),
    },
    // The subject is the team.
    runStandup: {
      label: words.runStandup,
      icon: 'reload',
      busy: hold.isPending,
      not: lacks.runs,
      run: () => hold.mutate({ team: id }),
    },
    openSession: { label: words.openSession, href: sessionHref(id) },
    stopSession: { label: words.stopSession, icon: 'stop', ends: true, not: lacks.runs, run: () => verbs.stop(item) },
    allowMore: {
      label: words.allowMore,
      help: words.allowMoreFor(limit?.window ?? 'day'),
      icon: 'check',
      busy: allow.isPending,
      run: () => allow.mutate(),
    },
    raiseLimit: { label: words.raiseLimit, href: '/spend?part=limits' },
    keepStopped: { label: words.keepStopped, run: () => verbs.act(item, { do: 'ack' }) },
    message: { label: words.message(name), href: `${sessionHref(mainKey(id))}?compose=1` },
    testConnection: { label: words.testConnection, icon: 'link', run: () => verbs.test(item) },
    answer: { label: approvals.answer, icon: 'comment', run: () => verbs.answer(item) },
    openSpend: { label: words.openSpend, href: '/spend?period=today' },
    review: { label: approvals.review, icon: 'eye', run: () => verbs.answer(item) },
  }
}

interface Props {
  item: Told
  verbs: ItemActions
  /** Set where the item is the main thing on the screen. */
  main?: boolean
}

/** The buttons that settle an item, the primary one first. Its element has the attribute data-act. */
export function ItemButtons({ item, verbs, main = false }: Props) {
  const limit = useLimitOf(item)
  const acts = useActs(item, verbs, limit)
  const names = actsOf(item, { lead: leads(useMe().data), limit })
  return names.map((name, i) => {
    const { label, help, icon, busy, not, href, ends, run } = acts[name]
    const shared = {
      'aria-label': acting.of(label, item.title),
      ...(help ? { title: help } : {}),
      ...(i === 0 ? { 'data-act': '' } : {}),
    }
    const look = ends ? (i === 0 ? 'alarm' : 'danger') : main && i === 0 ? 'primary' : 'plain'
    return href ? (
      <TextLink key={name} {...shared} className={buttonClass(look)} href={href}>
        {label}
      </TextLink>
    ) : (
      <Button
        key={name}
        {...shared}
        busy={busy}
        look={look}
        not={not ?? null}
        onClick={run}
        {...(icon ? { icon } : {})}
      >
        {label}
      </Button>
    )
  })
}
