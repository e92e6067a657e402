import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { grouped, money, tokens, unknown } from '../app/format'
import { queries } from '../app/queries'
import { spend } from '../texts/spend'
import { Button } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { sayFailed } from '../ui/toast'
import { keyOf, type PartId } from './split'
import { type Amounts, costOf, tokensOf } from './sums'

const words = spend

/** A rounded amount. The exact one is in the tooltip and the value attribute. */
export function Money({ usd, className = '' }: { usd: string | null; className?: string }) {
  if (usd === null) return <span className={`text-attention ${className}`}>{words.unpriced}</span>
  return (
    <data className={className} title={`${words.known.exact}: $${usd}`} value={usd}>
      {money(usd)}
    </data>
  )
}

/** The cost of runs, and the number of unpriced ones. */
export function Cost({ of }: { of: Amounts }) {
  const cost = costOf(of)
  return (
    <span className="whitespace-nowrap">
      <Money usd={cost} />
      {of.unpriced > 0 && cost !== null && (
        <span className="text-attention text-xs"> {words.withUnpriced(of.unpriced)}</span>
      )}
    </span>
  )
}

/** Like `Cost`, as a string. */
export function costText(of: Amounts): string {
  const cost = costOf(of)
  if (cost === null) return words.unpriced
  return of.unpriced > 0 ? `${money(cost)} ${words.withUnpriced(of.unpriced)}` : money(cost)
}

export const Count = ({ of }: { of: number }) => (
  <data title={grouped(of)} value={of}>
    {tokens(of)}
  </data>
)

export const tokenText = (of: Amounts): string => tokens(tokensOf(of.tokens))

/** Returns a function that names a group: agents by name, sources by label, others by key. */
export function useNames(group: string): (id: PartId) => string {
  const agents = useQuery({ ...queries.agents, enabled: group === 'agent' }).data
  const names = useMemo(() => new Map(agents?.map(a => [a.agent_id, a.name])), [agents])
  return useCallback(
    id => {
      if (id === 'rest') return words.others
      const key = keyOf(id)
      if (key === null) return words.none[group] ?? unknown
      if (group === 'agent') return names.get(key) ?? key
      return group === 'source' ? (words.source[key] ?? key) : key
    },
    [group, names],
  )
}

/** The name of a group; tasks are links, agents have their faces. */
export function GroupName({ id, group, name }: { id: PartId; group: string; name: string }) {
  const key = keyOf(id)
  if (group === 'task' && key !== null) {
    return (
      <Link className="key text-accent hover:underline" search={{ task: key }} to="/tasks">
        <bdi>{key}</bdi>
      </Link>
    )
  }
  if (group === 'agent' && key !== null) return <AgentName id={key} name={name} />
  return (
    <bdi className={key === null ? 'text-soft' : ''} title={key ?? name}>
      {name}
    </bdi>
  )
}

/** Downloads text as a CSV file. */
function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // Some browsers start reading only after this.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** A download button. */
export function CsvButton({ label, name, text }: { label: string; name: string; text: () => Promise<string> }) {
  const [busy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    try {
      saveFile(name, await text())
    } catch (err) {
      sayFailed(err, words.csvFailed)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button aria-label={label} busy={busy} icon="down" onClick={() => void save()}>
      {words.csv}
    </Button>
  )
}

/** A section with a title and actions. */
export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex min-w-0 flex-col gap-2">
      <div className="flex min-h-7 flex-wrap items-center gap-2">
        <h2 className="grow font-semibold text-base">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}
