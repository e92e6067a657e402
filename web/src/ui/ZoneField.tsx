import { Autocomplete } from '@base-ui/react/autocomplete'
import { useMemo, useState } from 'react'
import { useZone } from '../app/config'
import { myZone } from '../app/format'
import { controls } from '../texts/controls'
import { Field } from './Field'
import { Icon } from './Icon'
import { popupClass } from './popup'
import { matchesZone, readZone, zonesFrom } from './zones'

interface Props {
  label: string
  help?: string
  error?: string | undefined
  hideLabel?: boolean
  className?: string
  name?: string
  required?: boolean
  /** An IANA time zone. Without it, the field keeps its own value, which begins with `defaultValue`. */
  value?: string
  defaultValue?: string | undefined
  /** Called with a zone once it is complete or chosen, and with an empty text when the field was cleared. */
  onPick?: (zone: string) => void
}

/** The zones shown at once. More are found by typing. */
const most = 40

/** A field for a time zone: part of a name is typed, such as "tokyo", and the zone is chosen from the matches. */
export function ZoneField({ value, defaultValue = '', onPick, required = false, ...field }: Props) {
  const service = useZone()
  const [own, setOwn] = useState(defaultValue)
  const [typed, setTyped] = useState<string | null>(null)
  const is = value ?? own
  const all = useMemo(() => zonesFrom([myZone(), service, 'UTC', is]), [service, is])
  const type = (text: string) => {
    const zone = readZone(text, all)
    setTyped(zone === text ? null : text)
    if (zone === null || zone === is || (zone === '' && required)) return
    setOwn(zone)
    onPick?.(zone)
  }
  const note = (zone: string) => (zone === myZone() ? controls.zoneMine : zone === service ? controls.zoneService : '')
  return (
    <Autocomplete.Root
      autoHighlight
      // All zones are listed until something is typed.
      filter={(zone: string, text: string) => typed === null || matchesZone(zone, text)}
      items={all}
      limit={most}
      onValueChange={type}
      openOnInputClick
      value={typed ?? is}
    >
      <Autocomplete.Input
        onBlur={() => setTyped(null)}
        onFocus={e => e.currentTarget.select()}
        render={
          <Field
            {...field}
            after={<Icon className="pointer-events-none mr-1.5 text-soft" name="chevron" />}
            autoComplete="off"
            placeholder={service}
            required={required}
            spellCheck={false}
          />
        }
      />
      <Autocomplete.Portal>
        <Autocomplete.Positioner align="start" className="z-50 outline-none" sideOffset={4}>
          <Autocomplete.Popup
            className={`${popupClass} max-h-[min(20rem,var(--available-height))] w-(--anchor-width) min-w-56`}
          >
            <Autocomplete.Empty className="px-3 text-soft not-empty:py-1.5">{controls.noZone}</Autocomplete.Empty>
            <Autocomplete.List aria-label={field.label}>
              {(zone: string) => (
                <Autocomplete.Item
                  key={zone}
                  className="flex h-8 select-none items-center gap-2 px-3 outline-none data-highlighted:bg-hover pointer-coarse:h-10"
                  data-choice={zone}
                  value={zone}
                >
                  <bdi className="min-w-0 grow truncate">{zone}</bdi>
                  <span className="shrink-0 text-soft text-xs">{note(zone)}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  )
}
