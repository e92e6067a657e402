import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { newKey } from '../api/client'
import { asProblem } from '../api/problem'
import { dropDraft, useDraft } from '../tasks/drafts'
import { acting } from '../texts/acting'
import { TextArea } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'

interface Props {
  /** What the draft is for, and the ID of the thing it is about. */
  draft: readonly [what: string, id: string]
  /** The text without a draft. */
  proposed?: string | undefined
  label: string
  help: string
  submit: string
  /** Sends the text. A retry after a lost response passes the same key. */
  send: (text: string, key: string) => Promise<unknown>
  onDone: () => void
  onCancel: () => void
  /** Whether an empty text may be sent. */
  optional?: boolean
  /** Maximum number of characters. */
  most?: number
  /** More choices, below the text. */
  children?: ReactNode
}

/** A form for an answer in words. The text is kept as a draft until it is sent; Ctrl+Enter or ⌘+Enter sends it. */
export function WordsForm({
  draft,
  proposed,
  label,
  help,
  submit,
  send,
  onDone,
  onCancel,
  optional = false,
  most = 4000,
  children,
}: Props) {
  const [text, write] = useDraft(...draft, proposed)
  const [key, setKey] = useState(newKey)
  const sending = useMutation({
    mutationFn: () => send(text.trim(), key),
    onSuccess: () => {
      dropDraft(...draft)
      onDone()
    },
    onError: err => asProblem(err).status > 0 && setKey(newKey()),
  })
  const problem = sending.error ? asProblem(sending.error) : null
  return (
    <SubmitForm
      busy={sending.isPending}
      disabled={!optional && !text.trim()}
      onCancel={onCancel}
      onSend={() => (optional || text.trim()) && !sending.isPending && sending.mutate()}
      submit={submit}
    >
      <WordsField
        error={problem ? (problem.of('text') ?? problem.message) : undefined}
        help={help}
        label={label}
        maxLength={most}
        onChange={write}
        required={!optional}
        value={text}
      />
      {children}
    </SubmitForm>
  )
}

interface FieldProps {
  label: string
  help: string
  error?: string | undefined
  maxLength: number
  required?: boolean
  value: string
  onChange: (text: string) => void
}

/** The text field of an answer. Ctrl+Enter or ⌘+Enter submits its form. */
export const WordsField = ({ onChange, required = true, ...rest }: FieldProps) => (
  <TextArea
    {...rest}
    autoFocus
    onChange={e => onChange(e.target.value)}
    onKeyDown={e => {
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.currentTarget.form?.requestSubmit()
    }}
    required={required}
    rows={4}
    title={acting.keys}
  />
)
