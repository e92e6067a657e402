import { useNavigate } from '@tanstack/react-router'
import { useKeys } from '../app/keys'
import { places } from '../app/places'
import { texts } from '../texts'

/** Registers `g t` and the other shortcuts that open a page. */
export function usePageShortcuts(): void {
  const navigate = useNavigate()
  useKeys(
    places.flatMap(p =>
      p.key
        ? [
            {
              keys: `g ${p.key}`,
              label: `${texts.app.keys.go} ${texts.app.places[p.id]}`,
              run: () => void navigate({ to: p.path }),
            },
          ]
        : [],
    ),
  )
}
