import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queries } from '../app/queries'
import { Doctor } from '../settings/Doctor'
import { doctorQuery } from '../settings/queries'
import { inbox as inboxWords } from '../texts/inbox'

/** Tests the connection to the gateway and shows each check. */
export function TestConnection() {
  const cache = useQueryClient()
  // An earlier result says nothing about the connection now.
  useState(() => cache.removeQueries({ queryKey: doctorQuery.queryKey }))
  const gateway = useQuery(queries.gateway).data
  return (
    <>
      {gateway && <Doctor state={gateway} />}
      <Link className="text-accent hover:underline" to="/settings/gateway">
        {inboxWords.gatewaySettings}
      </Link>
    </>
  )
}
