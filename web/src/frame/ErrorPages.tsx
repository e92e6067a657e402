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
export function Broken({ error }: { error: unknown }) {
  useTitle(texts.app.broken.title)
  return (
    <Empty
      action={<Button onClick={() => location.reload()}>{texts.app.broken.reload}</Button>}
      icon="error"
      title={texts.app.broken.title}
    >
      <p>{texts.app.broken.text}</p>
      <p className="key mt-2 text-xs">{String(error)}</p>
    </Empty>
  )
}
