import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ifMatch, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Dialog } from '../ui/Dialog'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import { Note, Refusal } from './Bits'
import { dueQuery, retentionQuery, settingsQuery } from './queries'
import { effectOf } from './rules'

const words = settings.retention
type Policy = Schemas['RetentionStatus']

/** The dialog that changes after how many days data goes, with what the change means for the next run. */
export function RetentionDays({ of, onClose }: { of: readonly Policy[]; onClose: () => void }) {
  const setting = of[0]?.setting ?? ''
  return (
    <Dialog onClose={onClose} open={setting !== ''} title={words.editTitle(words.settings[setting] ?? setting)}>
      {setting && <Form key={setting} of={of} onClose={onClose} setting={setting} />}
    </Dialog>
  )
}

const most = 36_500

function Form({ of, setting, onClose }: { of: readonly Policy[]; setting: string; onClose: () => void }) {
  const cache = useQueryClient()
  const was = of[0]?.days ?? 0
  const version = useQuery(settingsQuery).data?.version
  const [counted, setCounted] = useState(was)
  const [typed, type] = useDebouncedInput(String(was), text => {
    const n = Number(text)
    if (text && Number.isInteger(n) && n >= 0 && n <= most) setCounted(n)
  })
  const due = useQuery({ ...dueQuery(setting, counted), enabled: counted !== was })
  const save = useMutation({
    mutationFn: (days: number) =>
      take(
        api.PATCH('/api/v1/settings', {
          ...(version === undefined ? {} : { params: { header: ifMatch(version) } }),
          body: { retention: { [setting.toLowerCase()]: days } },
        }),
      ),
    onSuccess: next => {
      cache.setQueryData(settingsQuery.queryKey, next)
      void cache.invalidateQueries({ queryKey: retentionQuery.queryKey })
      say(words.saved)
      onClose()
    },
    onError: err => asProblem(err).status === 412 && cache.invalidateQueries({ queryKey: settingsQuery.queryKey }),
  })
  const days = Number(typed)
  const settled = typed !== '' && days === counted
  const effect = settled ? effectOf(of, due.data) : undefined
  const earlier = was === 0 ? counted > 0 : counted > 0 && counted < was
  return (
    <SubmitForm
      busy={save.isPending}
      // Until the preview is there, nobody knows what a lower number deletes.
      disabled={days !== was && (!settled || (earlier && effect === undefined && !due.error))}
      look={earlier ? 'danger' : 'primary'}
      onCancel={onClose}
      onSend={() => (days === was ? onClose() : save.mutate(days))}
      submit={earlier ? words.saveEarlier : settings.save}
    >
      <Field
        autoFocus
        help={words.daysHelp}
        inputMode="numeric"
        label={words.daysLabel}
        maxLength={5}
        onChange={e => type(e.target.value)}
        pattern="[0-9]+"
        required
        value={typed}
      />
      <div aria-live="polite" className="min-h-14" data-preview={effect?.is}>
        {counted !== was && settled && (
          <Note tone={effect?.is === 'earlier' ? 'attention' : 'info'}>
            <span className="font-medium">{words.change(was, counted)}</span>
            <span className="block">
              {due.error
                ? asProblem(due.error).message
                : effect
                  ? words.effects[effect.is](effect.count, setting)
                  : texts.ui.loading}
            </span>
          </Note>
        )}
      </div>
      <Refusal error={save.error} />
    </SubmitForm>
  )
}
