import { useQuery } from '@tanstack/react-query'
import { ApprovalCard } from './ApprovalCard'
import { QuestionCard } from './QuestionCard'
import { type About, waitingQuery } from './queries'

/** The approvals and questions of an agent, a session or a task that wait for a person; nothing without any. */
export function Waiting({ about }: { about: About }) {
  const asked = useQuery(waitingQuery(about)).data
  if (!asked || asked.approvals.length + asked.questions.length === 0) return null
  return (
    <div className="flex flex-col gap-2">
      {asked.approvals.map(a => (
        <ApprovalCard id={a.id} key={a.id} />
      ))}
      {asked.questions.map(q => (
        <QuestionCard id={q.id} key={q.id} />
      ))}
    </div>
  )
}
