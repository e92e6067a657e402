import { type ReactNode, useState } from 'react'
import { texts } from '../texts'
import { login as loginWords } from '../texts/login'
import { IconButton } from '../ui/Button'
import { Field } from '../ui/Field'

/** The layout of the sign-in pages. */
export function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="flex min-h-full items-start justify-center bg-panel px-3 py-[12vh]">
      <div className="hairline w-full max-w-sm rounded-md bg-ground p-6">
        <p className="mb-4 flex items-center gap-2 font-semibold text-soft">
          <img alt="" className="size-5" src="/favicon.svg" />
          {texts.app.name}
        </p>
        <h1 className="mb-4 font-semibold text-xl">{title}</h1>
        {children}
      </div>
    </main>
  )
}

/** A password field with a show/hide button. */
export function Password({
  label,
  autoComplete,
  error,
  help,
}: {
  label: string
  autoComplete: string
  error?: string | undefined
  help?: string
}) {
  const [shown, setShown] = useState(false)
  return (
    <Field
      after={
        <IconButton
          aria-pressed={shown}
          icon="eye"
          label={shown ? loginWords.hide : loginWords.reveal}
          onClick={() => setShown(!shown)}
        />
      }
      autoComplete={autoComplete}
      error={error}
      help={help}
      label={label}
      name="password"
      required
      type={shown ? 'text' : 'password'}
    />
  )
}
