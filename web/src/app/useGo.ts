import { type RegisteredRouter, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'

/**
 * Returns a function that changes search parameters of a page; undefined removes one. What closes a panel or dialog
 * passes `replace`, so that browser back does not open it again.
 */
export function useGo<S extends object>(
  from: keyof RegisteredRouter['routesByPath'],
): (change: S, replace?: boolean) => void {
  const navigate = useNavigate({ from })
  return useCallback(
    (change, replace = false) =>
      void navigate({ search: (was: object) => ({ ...was, ...change }), replace } as Parameters<typeof navigate>[0]),
    [navigate],
  )
}
