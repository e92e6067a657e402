import { useState } from 'react'
import { asProblem } from '../api/problem'
import { emailOf, newAgent, useCreateAgent } from '../settings/AgentAccount'
import { settings } from '../texts/settings'
import { welcome } from '../texts/welcome'
import { Button } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { State } from '../ui/State'
import { type Known, standing, withoutAccount } from './steps'

const words = welcome.accounts

/** Creates accounts for all agents without one. A failure doesn't stop the others. */
export function Accounts({ known }: { known: Known }) {
  const { agents } = known
  const missing = withoutAccount(agents)
  const having = agents?.filter(a => a.account !== null) ?? []
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [failed, setFailed] = useState<ReadonlyMap<string, string>>(new Map())
  const [busy, setBusy] = useState(false)
  const create = useCreateAgent()
  const chosen = missing.filter(a => !left.has(a.agent_id))
  const all = async () => {
    setBusy(true)
    const problems = new Map<string, string>()
    for (const a of chosen) {
      try {
        await create.mutateAsync(newAgent(a.agent_id, a.name))
      } catch (err) {
        problems.set(a.name, asProblem(err).message)
      }
    }
    setFailed(problems)
    setBusy(false)
  }
  return (
    <>
      <p>{words.text}</p>
      {missing.length > 0 && (
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 font-medium">{words.choose}</legend>
          {missing.map(a => (
            <label className="flex min-h-8 items-center gap-2 pointer-coarse:min-h-10" key={a.agent_id}>
              <input
                checked={!left.has(a.agent_id)}
                className="size-4 accent-accent"
                onChange={e => {
                  const next = new Set(left)
                  if (e.target.checked) next.delete(a.agent_id)
                  else next.add(a.agent_id)
                  setLeft(next)
                }}
                type="checkbox"
              />
              <span className="wrap-anywhere min-w-0">
                <AgentName id={a.agent_id} name={a.name} />{' '}
                <span className="wrap-anywhere font-mono text-soft text-xs">{emailOf(a.agent_id)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {having.length > 0 && (
        <ul className="grid w-fit grid-cols-[auto_auto] gap-x-4 gap-y-1">
          {having.map(a => (
            <li className="col-span-2 grid grid-cols-subgrid items-center" key={a.agent_id}>
              <AgentName id={a.agent_id} name={a.name} /> <State tone="done">{words.has}</State>
            </li>
          ))}
        </ul>
      )}
      {missing.length === 0 && standing('accounts', known).is === 'open' && <p>{words.nobody}</p>}
      {[...failed].map(([name, why]) => (
        <p className="wrap-anywhere text-danger" key={name} role="alert">
          {words.failed(name)} {why}
        </p>
      ))}
      {missing.length > 0 && (
        <>
          <p className="text-soft text-xs">{settings.agents.createText}</p>
          <div>
            <Button busy={busy} disabled={chosen.length === 0} look="primary" onClick={() => void all()}>
              {words.create(chosen.length)}
            </Button>
          </div>
        </>
      )}
    </>
  )
}
