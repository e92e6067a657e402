// @vitest-environment jsdom
import { act, cleanup, render } from '@testing-library/react'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { allowTranslation } from './translation'

beforeAll(allowTranslation)
afterEach(cleanup)

const texts = (root: Node): Text[] => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  const found: Text[] = []
  while (walker.nextNode()) found.push(walker.currentNode as Text)
  return found.filter(text => text.data.trim() !== '' && text.parentNode?.nodeName !== 'FONT')
}

function wrapping(): [HTMLElement, HTMLElement] {
  const [outer, inner] = [document.createElement('font'), document.createElement('font')]
  outer.append(inner)
  return [outer, inner]
}

/** The ways in which translators change texts. */
const ways: Record<string, (text: Text) => void> = {
  'puts texts into elements': text => {
    const [outer, inner] = wrapping()
    text.replaceWith(outer)
    inner.append(text)
  },
  'puts elements before texts and removes these': text => {
    const [outer, inner] = wrapping()
    inner.textContent = `<${text.data}>`
    text.before(outer)
    text.remove()
  },
  'replaces texts by elements': text => {
    const [outer, inner] = wrapping()
    inner.textContent = `<${text.data}>`
    text.replaceWith(outer)
  },
  'removes texts and puts elements in their place': text => {
    const [outer, inner] = wrapping()
    inner.textContent = `<${text.data}>`
    const [parent, next] = [text.parentNode, text.nextSibling]
    text.remove()
    parent?.insertBefore(outer, next)
  },
}

function Page({ n, more, order }: { n: number; more: boolean; order: readonly string[] }) {
  return (
    <section>
      {more && 'Urgent: '}
      {n} open {n === 1 ? 'item' : 'items'}
      {more ? <b>now</b> : 'later'}
      <ul>
        {order.map(name => (
          <li key={name}>
            {name} {more && <i>new</i>} of {n}
          </li>
        ))}
      </ul>
      {order.map(name => (name === 'a' ? `text ${name}` : <span key={name}>{name}</span>))}
    </section>
  )
}

const plain = (e: Element): string => (e.textContent ?? '').replace(/[<>]/g, '')

// Translated pages must go on working, and must show what is true now and not what was translated once.
describe.each(Object.entries(ways))('a translator that %s', (_, translate) => {
  it('does no harm to what changes', async () => {
    const states = [
      { n: 2, more: false, order: ['a', 'b', 'c'] },
      { n: 1, more: true, order: ['c', 'a', 'b'] },
      { n: 1, more: false, order: ['b'] },
      { n: 7, more: true, order: ['b', 'x', 'a'] },
      { n: 7, more: false, order: [] },
      { n: 3, more: true, order: ['a', 'b', 'c', 'd'] },
    ]
    const first = states[0] as (typeof states)[0]
    const { container, rerender, unmount } = render(<Page {...first} />)
    for (const state of [...states, ...states.reverse()]) {
      for (const text of texts(container)) translate(text)
      // Lets the observer note what the translator did.
      await act(async () => undefined)
      rerender(<Page {...state} />)
      const { container: expected, unmount: drop } = render(<Page {...state} />)
      expect(plain(container)).toBe(expected.textContent)
      drop()
    }
    for (const text of texts(container)) translate(text)
    await act(async () => undefined)
    unmount()
    expect(container.textContent).toBe('')
  })
})
