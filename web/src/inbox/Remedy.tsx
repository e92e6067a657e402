import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { rereadSoon } from '../app/live/patches'
import { leads, useMe } from '../app/queries'
import { useHold } from '../standups/actions'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { say, sayFailed } from '../ui/toast'
import { remedyOf, type Told } from './item'

const words = inboxWords.remedy

interface Props {
  item: Told
  /** Set in a row, where there is less room. */
  small?: boolean
}

/** The action that fixes the cause of an item, for users who may take it. */
export function Remedy({ item, small = false }: Props) {
  const cache = useQueryClient()
  const me = useMe().data
  const hold = useHold()
  const remedy = remedyOf(item)
  const send = useMutation({
    mutationFn: async (id: string): Promise<void> => {
      const params = { path: { id } }
      if (remedy?.do === 'dispatch') await take(api.POST('/api/v1/tasks/{id}/dispatch', { params }))
      else await take(api.POST('/api/v1/agentrt/jobs/{id}/run', { params }))
    },
    onSuccess: () => {
      say(remedy?.do === 'dispatch' ? words.dispatched(item.subject.name) : words.ran(item.subject.name))
      rereadSoon(cache, ['now', 'slots'])
    },
    onError: err => sayFailed(err, words.couldNot),
  })
  if (!remedy || !leads(me)) return null
  const label = words[remedy.do]
  const act = () => {
    if (remedy.do === 'hold') hold.mutate({ team: remedy.team })
    else if (remedy.do === 'retry') hold.mutate({ id: remedy.id, team: '' })
    else send.mutate(remedy.id)
  }
  return (
    <Button
      aria-label={words.of(label, item.title)}
      busy={send.isPending || hold.isPending}
      className={small ? 'h-6! pointer-coarse:h-9!' : ''}
      icon="reload"
      onClick={act}
    >
      {label}
    </Button>
  )
}
