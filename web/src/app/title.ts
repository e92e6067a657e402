import { useEffect } from 'react'
import { texts } from '../texts'

/** The title of the tab says where one is. */
export function useTitle(...parts: (string | undefined)[]): void {
  const title = [...parts.filter(Boolean), texts.app.name].join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
