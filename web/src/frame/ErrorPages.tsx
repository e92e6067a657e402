import { Link } from '@tanstack/react-router'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { Button, buttonClass } from '../ui/Button'
import { Empty } from '../ui/Views'

/** Shown for unknown addresses. */
export function UnknownPage() {
  const { title, text, open } = texts.app.unknownPage
  useTitle(title)
  return (
    <Empty
      action={
        <Link className={buttonClass('primary')} to="/">
          {open}
        </Link>
      }
      icon="search"
      title={title}
    >
      {text}
    </Empty>
  )
}

/** Shown when rendering a page throws. */
export function Broken({ error, reset }: { error: unknown; reset: () => void }) {
  useTitle(texts.app.broken.title)
  return (
    <Empty
      action={
        <span className="flex flex-wrap justify-center gap-2">
          <Button icon="reload" onClick={reset}>
            {texts.ui.tryAgain}
          </Button>
          <Button onClick={() => location.reload()}>{texts.app.broken.reload}</Button>
        </span>
      }
      icon="error"
      title={texts.app.broken.title}
    >
      <p>{texts.app.broken.text}</p>
      <p className="key mt-2 text-xs">{String(error)}</p>
    </Empty>
  )
}
