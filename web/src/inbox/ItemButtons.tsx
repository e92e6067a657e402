import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useApprove } from '../acting/useApprove'
import { api, take } from '../api/client'
import { rereadSoon } from '../app/live/patches'
import { leads, useMe } from '../app/queries'
import { useHold } from '../standups/actions'
import { acting } from '../texts/acting'
import { inbox as inboxWords } from '../texts/inbox'
import { Button, buttonClass } from '../ui/Button'
import type { IconName } from '../ui/Icon'
import { sessionHref, TextLink } from '../ui/TextLink'
import { say, sayFailed } from '../ui/toast'
import { actsOf, type Told } from './item'
import type { ActName } from './kinds'
import type { ItemActions } from './useItemActions'

const words = inboxWords.acts

/** A button of an item: with `href`, a link. */
interface Act {
  label: string
  icon?: IconName
  busy?: boolean
  href?: string
  run?: () => void
}

/** Returns what each action does to an item. */
function useActs(item: Told, verbs: ItemActions): Record<ActName, Act> {
  const cache = useQueryClient()
  const hold = useHold()
  const approve = useApprove()
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
  return {
    decide: { label: acting.decide.button, icon: 'comment', run: () => verbs.decide(item) },
    approve: {
      label: acting.approve.button,
      icon: 'check',
      busy: approve.isPending,
      run: () => approve.mutate({ id, key: name }),
    },
    sendBack: { label: acting.sendBack.button, run: () => verbs.sendBack(item) },
    runJob: { label: words.runJob, icon: 'reload', busy: runJob.isPending, run: () => runJob.mutate() },
    openRun: { label: words.openRun, href: sessionHref(item.run?.session_key ?? '') },
    dispatch: { label: words.dispatch, icon: 'reload', busy: dispatch.isPending, run: () => dispatch.mutate() },
    retryStandup: {
      label: words.retryStandup,
      icon: 'reload',
      busy: hold.isPending,
      run: () => hold.mutate({ id, team: '' }),
    },
    // The subject is the team.
    runStandup: { label: words.runStandup, icon: 'reload', busy: hold.isPending, run: () => hold.mutate({ team: id }) },
    openSession: { label: words.openSession, href: sessionHref(id) },
    stopSession: { label: words.stopSession, icon: 'blocked', run: () => verbs.stop(item) },
    testConnection: { label: words.testConnection, icon: 'link', href: '/settings/gateway' },
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
  const acts = useActs(item, verbs)
  const names = actsOf(item, { lead: leads(useMe().data) })
  return names.map((name, i) => {
    const { label, icon, busy, href, run } = acts[name]
    const shared = { 'aria-label': acting.of(label, item.title), ...(i === 0 ? { 'data-act': '' } : {}) }
    const look = main && i === 0 ? 'primary' : 'plain'
    return href ? (
      <TextLink key={name} {...shared} className={buttonClass(look)} href={href}>
        {label}
      </TextLink>
    ) : (
      <Button key={name} {...shared} busy={busy} look={look} onClick={run} {...(icon ? { icon } : {})}>
        {label}
      </Button>
    )
  })
}
