import { useQuery } from '@tanstack/react-query'
import { usePeople } from '../app/queries'
import { texts } from '../texts'
import { IconButton } from '../ui/Button'
import { Keys } from '../ui/Keys'
import { Markdown } from '../ui/Markdown'
import { Menu } from '../ui/Menu'
import { SidePanel } from '../ui/SidePanel'
import { Answer } from '../ui/Views'
import { Activity } from './Activity'
import { useActions } from './actions'
import { Criteria } from './Criteria'
import { Editable } from './Edit'
import { Facts } from './Facts'
import { NextStep } from './NextStep'
import { oneQuery } from './queries'
import { WriteComment } from './WriteComment'

const words = texts.tasks

interface Props {
  /** The key or ID in the URL. */
  task: string
  onClose: () => void
  onOpen: (key: string) => void
}

/** A task beside the list, or over it on a phone. */
export function Panel({ task: key, onClose, onOpen }: Props) {
  const asked = useQuery(oneQuery(key))
  const people = usePeople()
  const { menu } = useActions()
  return (
    <SidePanel
      header={
        <>
          <span className="key grow text-soft">{asked.data?.key ?? key}</span>
          {asked.data && (
            <Menu
              groups={menu(asked.data, null)}
              trigger={<IconButton icon="more" label={words.actions(asked.data.key)} />}
            />
          )}
        </>
      }
      label={key}
      onClose={onClose}
      width="lg:w-[clamp(30rem,calc(100vw-45rem),720px)]"
      writes
    >
      <Answer of={asked} what={key}>
        {task => (
          <div className="@container">
            <div className="grid gap-x-6 gap-y-4 @min-[40rem]:grid-cols-[minmax(0,1fr)_17rem] @min-[40rem]:grid-rows-[auto_1fr]">
              <div className="flex min-w-0 flex-col gap-3">
                <Editable field="title" task={task}>
                  <h2 className="font-semibold text-lg">
                    <bdi>
                      <Keys>{task.title}</Keys>
                    </bdi>
                  </h2>
                </Editable>
                <NextStep people={people} task={task} />
              </div>
              <Facts onOpen={onOpen} people={people} task={task} />
              <div className="flex min-w-0 flex-col gap-4">
                <Editable field="description" task={task}>
                  {task.description ? (
                    <Markdown text={task.description} />
                  ) : (
                    <p className="text-soft">{words.noDescription}</p>
                  )}
                </Editable>
                <Criteria task={task} />
                <section aria-label={words.activity} className="flex flex-col gap-3 border-line border-t pt-3">
                  <h3 className="font-semibold">{words.activity}</h3>
                  <WriteComment task={task} />
                  <Activity people={people} task={task} />
                </section>
              </div>
            </div>
          </div>
        )}
      </Answer>
    </SidePanel>
  )
}
