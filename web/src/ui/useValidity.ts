import { type RefObject, useEffect, useRef } from 'react'

/** Returns a ref for an input whose form can't be submitted while there is an error. */
export function useValidity(error: string | undefined): RefObject<HTMLInputElement | null> {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => ref.current?.setCustomValidity(error ?? ''), [error])
  return ref
}
