import { Outlet, useLocation } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useConfig } from '../app/config'
import { useKeys } from '../app/keys'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { useGoKeys } from './goKeys'
import { NewBuild } from './NewBuild'
import { BottomBar, Rail } from './Rail'
import { TopBar } from './TopBar'

// Of no use to most people most of the time.
const Left = lazy(() => import('../welcome/Left').then(m => ({ default: m.Left })))

// What is opened by a key is loaded when it is first opened.
const Palette = lazy(() => import('./Palette').then(m => ({ default: m.Palette })))
const KeyList = lazy(() => import('./KeyList').then(m => ({ default: m.KeyList })))

/** Everything around a place: the rail, the bar, the search, and the list of keys. */
export function Frame() {
  const [open, setOpen] = useState<'search' | 'keys' | null>(null)
  const [opened, setOpened] = useState({ search: false, keys: false })
  if (open && !opened[open]) setOpened({ ...opened, [open]: true })
  const config = useConfig().data
  const demo = config?.demo
  const isNow = useLocation({ select: l => l.pathname === '/' })
  const maySetUp = leads(useMe().data) && config !== undefined && !demo
  const close = () => setOpen(null)
  useGoKeys()
  useKeys([
    { keys: 'mod+k', label: texts.app.keys.search, run: () => setOpen('search') },
    { keys: '/', label: texts.app.keys.search, run: () => setOpen('search') },
    { keys: '?', label: texts.app.keys.help, run: () => setOpen('keys') },
  ])
  return (
    <div className="flex h-full flex-col">
      <button
        className="absolute top-1 left-1 z-50 -translate-y-16 rounded-md bg-accent px-3 py-2 text-on-accent focus:translate-y-0"
        onClick={() => document.getElementById('content')?.focus()}
        type="button"
      >
        {texts.app.skip}
      </button>
      {demo && (
        <aside
          aria-label={texts.app.demoLabel}
          className="shrink-0 bg-accent-tint px-3 py-0.5 text-center text-accent text-xs"
        >
          {texts.app.demo}
        </aside>
      )}
      <NewBuild />
      <div className="flex min-h-0 grow">
        <Rail />
        <div className="flex min-w-0 grow flex-col">
          <TopBar onKeys={() => setOpen('keys')} onSearch={() => setOpen('search')} />
          <main className="min-h-0 grow overflow-auto outline-none" id="content" tabIndex={-1}>
            {isNow && maySetUp && (
              <Suspense fallback={null}>
                <Left />
              </Suspense>
            )}
            <Outlet />
          </main>
        </div>
      </div>
      <BottomBar />
      <Suspense fallback={null}>
        {opened.search && <Palette onClose={close} onKeys={() => setOpen('keys')} open={open === 'search'} />}
        {opened.keys && <KeyList onClose={close} open={open === 'keys'} />}
      </Suspense>
    </div>
  )
}
