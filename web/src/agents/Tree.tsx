import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import { agents as agentTexts } from '../texts/agents'
import { AgentName } from '../ui/Face'
import { State } from '../ui/State'
import { useLinkKeys } from '../ui/useLinkKeys'
import { Answer } from '../ui/Views'
import { type Agent, type Place, treeOf } from './agent'
import { PresenceMark } from './Bits'
import { oneQuery, teamsQuery } from './queries'

const words = agentTexts

/** The agents by standup team. */
export function Tree({ agents }: { agents: readonly Agent[] }) {
  const teams = useQuery(teamsQuery)
  const box = useRef<HTMLDivElement>(null)
  useLinkKeys(box)
  return (
    <div ref={box} className="min-h-0 grow overflow-y-auto p-4">
      <Answer of={teams} rows={5} what={words.what}>
        {list => {
          const { branches, alone } = treeOf(agents, list)
          return (
            <div className="flex max-w-3xl flex-col gap-6">
              <p className="text-soft text-xs">{branches.length > 0 ? words.tree.note : words.tree.noTeams}</p>
              {branches.map(b => (
                <Group key={b.id} title={b.name}>
                  <li>
                    <Row note={words.tree.leads} place={b.lead} />
                    <ul className="ml-3 border-line border-l pl-3">
                      {b.members.map(m => (
                        <li key={m.id}>
                          <Row place={m} />
                        </li>
                      ))}
                    </ul>
                  </li>
                </Group>
              ))}
              {alone.length > 0 && (
                <Group note={branches.length > 0 ? words.tree.aloneNote : ''} title={words.tree.alone}>
                  {alone.map(a => (
                    <li key={a.agent_id}>
                      <Row place={{ id: a.agent_id, agent: a }} />
                    </li>
                  ))}
                </Group>
              )}
            </div>
          )
        }}
      </Answer>
    </div>
  )
}

function Group({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-1 font-semibold">
        <bdi>{title}</bdi>
      </h3>
      {note && <p className="text-soft text-xs">{note}</p>}
      <ul>{children}</ul>
    </section>
  )
}

function Row({ place, note }: { place: Place; note?: string }) {
  if (place.agent === null) {
    return (
      <p className="flex min-h-8 flex-wrap items-center gap-2 px-2">
        <bdi className="key">{place.id}</bdi>
        <State tone="attention">{words.tree.missing}</State>
      </p>
    )
  }
  return (
    <Link
      className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-0.5 rounded-md px-2 py-1 hover:bg-hover pointer-coarse:min-h-10"
      params={{ agentId: place.id }}
      to="/agents/$agentId"
    >
      <AgentName className="font-medium" id={place.id} name={place.agent.name} />
      {note && <span className="text-soft text-xs">{note}</span>}
      <PresenceMark of={place.agent} />
      <Current id={place.id} />
    </Link>
  )
}

/** The task the agent works on: the latest one in progress. */
function Current({ id }: { id: string }) {
  const task = useQuery(oneQuery(id)).data?.tasks.last.find(t => t.status === 'in_progress')
  if (!task) return null
  return (
    <span className="flex min-w-0 items-center gap-1.5 text-soft">
      <span className="key">{task.key}</span>
      <bdi className="truncate">{task.title}</bdi>
    </span>
  )
}
