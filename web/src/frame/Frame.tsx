import { Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useConfig } from '../app/config'
import { useKeys } from '../app/keys'
import { lazyPart, preloadAll } from '../app/lazy'
import { useLineState } from '../app/live'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { Guarded } from '../ui/Guarded'
import { say } from '../ui/toast'
import { Delivery } from './Delivery'
import { NewBuild } from './NewBuild'
import { BottomBar, Sidebar } from './Sidebar'
import { TopBar } from './TopBar'
import { usePageShortcuts } from './usePageShortcuts'

// Lazy, because few people ever need it.
const Reminder = lazyPart(() => import('../welcome/Reminder'), 'Reminder')

// Lazy, because they open only on a key press.
const Palette = lazyPart(() => import('./Palette'), 'Palette')
const ShortcutList = lazyPart(() => import('./ShortcutList'), 'ShortcutList')

/** Loads all pages in the background, so that they open even if the server goes away. */
function useParts(): void {
  const live = useLineState() === 'live'
  useEffect(() => {
    if (!live) return
    const end = new AbortController()
    const timer = setTimeout(() => void preloadAll(end.signal), 1_000)
    return () => {
      clearTimeout(timer)
      end.abort()
    }
  }, [live])
}

/** The layout around every page: sidebar, top bar, search, and shortcut list. */
export function Frame() {
  const [open, setOpen] = useState<'search' | 'keys' | null>(null)
  const [opened, setOpened] = useState({ search: false, keys: false })
  const show = (part: 'search' | 'keys') =>
    void (part === 'search' ? Palette : ShortcutList).load().then(
      () => {
        setOpened(was => ({ ...was, [part]: true }))
        setOpen(part)
      },
      () => say(texts.app.notLoaded.part),
    )
  const config = useConfig().data
  const demo = config?.demo
  const isNow = useLocation({ select: l => l.pathname === '/' })
  const maySetUp = leads(useMe().data) && config !== undefined && !demo
  const close = () => setOpen(null)
  usePageShortcuts()
  useParts()
  useKeys([
    { keys: 'mod+k', label: texts.app.keys.search, run: () => show('search') },
    { keys: '/', label: texts.app.keys.search, run: () => show('search') },
    { keys: '?', label: texts.app.keys.help, run: () => show('keys') },
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
      <Delivery />
      <div className="flex min-h-0 grow">
        <Guarded>
          <Sidebar />
        </Guarded>
        <div className="flex min-w-0 grow flex-col">
          <Guarded>
            <TopBar onKeys={() => show('keys')} onSearch={() => show('search')} />
          </Guarded>
          <main className="relative min-h-0 grow overflow-auto outline-none" id="content" tabIndex={-1}>
            <Guarded>{isNow && maySetUp && <Reminder />}</Guarded>
            <Outlet />
          </main>
        </div>
      </div>
      <Guarded>
        <BottomBar />
      </Guarded>
      <Guarded resetKey={open}>
        {opened.search && <Palette onClose={close} onKeys={() => show('keys')} open={open === 'search'} />}
        {opened.keys && <ShortcutList onClose={close} open={open === 'keys'} />}
      </Guarded>
    </div>
  )
}
