import { useEffect } from 'react'
import { texts } from '../texts'
import { pageHere } from './base'
import { noteVisit } from './recent'

/** Sets the title of the tab: the name of a thing, if the page shows one, and of its place. */
export function useTitle(...parts: (string | undefined)[]): void {
  const title = [...parts.filter(Boolean), texts.app.name].join(' · ')
  const thing = parts.length > 1 ? parts[0] : undefined
  useEffect(() => {
    document.title = title
    if (thing) noteVisit(thing, pageHere())
  }, [title, thing])
}
