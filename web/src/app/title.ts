import { useEffect } from 'react'
import { texts } from '../texts'

/** Sets the title of the tab. */
export function useTitle(...parts: (string | undefined)[]): void {
  const title = [...parts.filter(Boolean), texts.app.name].join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
