import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ifMatch, newKey } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { say } from '../ui/toast'

/** How to save objects of one kind. */
interface Kind<New, Change> {
  create: (body: New, key: { 'Idempotency-Key': string }) => Promise<{ name: string }>
  change: (id: string, body: Change, version: { 'If-Match': string }) => Promise<{ name: string }>
  words: { created: (name: string) => string; saved: (name: string) => string }
  /** The queries to read again. */
  stale: readonly QueryKey[]
}

/** Creates an object, or changes `was`. After a conflict, saving again applies on top of the other change. */
export function useSave<New, Change>(
  kind: Kind<New, Change>,
  was: { id: string; version: number } | null,
  onSaved: (body: New | Change) => void,
) {
  const cache = useQueryClient()
  const [key, setKey] = useState(newKey)
  const [version, setVersion] = useState(was?.version ?? 0)
  return useMutation({
    mutationFn: (of: { made: New } | { changed: Change }) =>
      'made' in of
        ? kind.create(of.made, { 'Idempotency-Key': key })
        : kind.change(was?.id ?? '', of.changed, ifMatch(version)),
    onSuccess: (next, of) => {
      say(was ? kind.words.saved(next.name) : kind.words.created(next.name))
      for (const queryKey of kind.stale) void cache.invalidateQueries({ queryKey })
      onSaved('made' in of ? of.made : of.changed)
    },
    onError: err => {
      const problem = asProblem(err)
      // A refused request created nothing; another may have, and its retry must not do so again.
      if (problem.status > 0 && problem.status < 500) setKey(newKey())
      if (typeof problem.facts.current_version === 'number') setVersion(problem.facts.current_version)
    },
    // Don't keep passwords in the mutation cache.
    gcTime: 0,
  })
}

/** The buttons of a form for an object that can be archived. */
export function SaveButtons({
  busy,
  archived,
  onArchive,
  onClose,
  words,
}: {
  busy: boolean
  /** Whether the object is archived; undefined if it is new. */
  archived: boolean | undefined
  onArchive?: ((archived: boolean) => void) | undefined
  onClose: () => void
  words: { archive: string; restore: string; create: string }
}) {
  return (
    <div className="flex flex-wrap justify-end gap-2">
      {onArchive && archived !== undefined && (
        <Button busy={busy} className="mr-auto" icon="archive" onClick={() => onArchive(!archived)}>
          {archived ? words.restore : words.archive}
        </Button>
      )}
      <Button look="quiet" onClick={onClose}>
        {texts.ui.cancel}
      </Button>
      <Button busy={busy} look="primary" type="submit">
        {archived === undefined ? words.create : settings.save}
      </Button>
    </div>
  )
}
