import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { acting } from '../texts/acting'
import { Dialog } from '../ui/Dialog'
import { Decide } from './Decide'
import { SendBack } from './SendBack'

/** Opens a dialog about a task, given by its key. */
export type AskTask = (what: 'decide' | 'sendBack', task: string) => void

/** Returns a function that opens a dialog about a task, and the dialogs. */
export function useTaskDialogs(): [ask: AskTask, dialogs: ReactNode] {
  const [of, setOf] = useState<{ what: Parameters<AskTask>[0]; task: string } | null>(null)
  const ask = useCallback<AskTask>((what, task) => setOf({ what, task }), [])
  const dialogs = useMemo(() => {
    const close = () => {
      setOf(null)
      // The button that opened the dialog is gone with what it acted on: keyboard users stay in the panel.
      setTimeout(() => {
        if (document.activeElement === document.body) document.querySelector<HTMLElement>('aside[tabindex]')?.focus()
      }, 250)
    }
    const dialog = (what: Parameters<AskTask>[0], Form: typeof Decide) => (
      <Dialog onClose={close} open={of?.what === what} title={of ? acting[what].title(of.task) : ''}>
        {of?.what === what && <Form onDone={close} task={of.task} />}
      </Dialog>
    )
    return (
      <>
        {dialog('decide', Decide)}
        {dialog('sendBack', SendBack)}
      </>
    )
  }, [of])
  return [ask, dialogs]
}
