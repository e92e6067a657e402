import { Link } from '@tanstack/react-router'
import { places } from '../app/places'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { Button, buttonClass } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Empty } from '../ui/Views'

/** Shown for unknown addresses, with links to all pages. */
export function UnknownPage() {
  useTitle(texts.app.unknownPage.title)
  return (
    <Empty icon="search" title={texts.app.unknownPage.title}>
      <p>{texts.app.unknownPage.text}</p>
      <p className="mt-4 flex flex-wrap justify-center gap-2">
        {places.map(p => (
          <Link key={p.id} className={buttonClass()} to={p.path}>
            <Icon name={p.icon} />
            {texts.app.places[p.id]}
          </Link>
        ))}
      </p>
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
