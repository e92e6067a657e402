import type { ErrorComponentProps } from '@tanstack/react-router'
import { useRetry } from '../app/lazy'
import { useLineState } from '../app/live'
import { useNewBuild } from '../app/newBuild'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Empty } from '../ui/Views'

const words = texts.app.notLoaded

/** Shown for a page that couldn't load, until it has loaded. The layout around it stays. */
export function NotLoaded(props: ErrorComponentProps) {
  const { failures, again } = useRetry(props)
  useTitle(words.title)
  const fresh = useNewBuild()
  const live = useLineState() === 'live'
  // Some browsers cache a failed module import until the page is reloaded.
  const reload = fresh || (live && failures > 2)
  return (
    <div role="alert">
      <Empty
        action={
          <span className="flex flex-wrap justify-center gap-2">
            {!fresh && (
              <Button icon="reload" onClick={again}>
                {texts.ui.tryAgain}
              </Button>
            )}
            {reload && <Button onClick={() => location.reload()}>{texts.app.broken.reload}</Button>}
          </span>
        }
        icon="off"
        title={words.title}
      >
        <p>{fresh ? words.newer : live ? words.live : words.away}</p>
      </Empty>
    </div>
  )
}
