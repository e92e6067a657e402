import { type ReactNode, useState } from 'react'
import { base } from '../app/base'
import { Delivery } from '../frame/Delivery'
import { texts } from '../texts'
import { login as loginWords } from '../texts/login'
import { IconButton } from '../ui/Button'
import { Field } from '../ui/Field'

/** The layout of the sign-in pages: the name and what it is, then the form. */
export function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="flex min-h-full flex-col items-center gap-6 bg-panel px-3 py-8 md:py-[10vh]">
      <Delivery />
      <div className="flex flex-col items-center gap-1 text-center">
        <img alt="" className="mb-2 size-11" src={`${base}/favicon.svg`} />
        <p className="font-semibold text-2xl leading-tight tracking-tight">{texts.app.name}</p>
        <p className="text-soft">{loginWords.tagline}</p>
      </div>
      <div className="hairline w-full max-w-sm rounded-md bg-ground p-6">
        <h1 className="mb-4 font-semibold text-base">{title}</h1>
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
