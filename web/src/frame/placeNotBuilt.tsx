import type { PlaceId } from '../app/places'
import { places } from '../app/places'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { Empty } from '../ui/Views'

/** Stands where a place will be. Whoever builds the place replaces it, and the last one deletes this file. */
export function placeNotBuilt(id: Exclude<PlaceId, 'tasks'>) {
  return function NotBuilt() {
    useTitle(texts.app.places[id])
    const place = places.find(p => p.id === id)
    return (
      <Empty title={texts.app.notBuilt.title(texts.app.places[id])} {...(place ? { icon: place.icon } : {})}>
        <p>{texts.app.notBuilt[id]}</p>
        <p className="mt-2">
          {texts.app.notBuilt.meanwhile}{' '}
          <a className="text-accent underline" href="/api/docs">
            /api/docs
          </a>
        </p>
      </Empty>
    )
  }
}
