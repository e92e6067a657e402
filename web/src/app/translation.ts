/** Elements that stand in the document for a text that a translator has taken out of it. */
const standIns = new WeakMap<Node, Element>()

/** Browsers translate a page by replacing its texts by, or putting them into, `font` elements. React creates none. */
const isFont = (node: Node | null): node is Element => node !== null && node.nodeName === 'FONT'
const isText = (node: Node): boolean => node.nodeType === Node.TEXT_NODE

/** Returns the outermost `font` around a node, or null. */
function wrapperOf(node: Node): Element | null {
  let found: Element | null = null
  for (let at = node.parentNode; isFont(at); at = at.parentNode) found = at
  return found
}

/** Returns what stands in for a node at last, because a translator may replace its own elements; or undefined. */
function standInOf(node: Node): Element | undefined {
  let found = standIns.get(node)
  // Limited, because a translator may put an element back that it has replaced.
  for (let n = 0; n < 10 && found?.parentNode === null; n++) found = standIns.get(found) ?? found
  return found
}

/** Returns the child of `parent` in which a node, or its stand-in, is shown; null if it is not there any more. */
function shownIn(parent: Node, node: Node): Node | null {
  for (const start of [node, standInOf(node)]) {
    let at: Node | null = start ?? null
    while (at !== null && at.parentNode !== parent) at = at.parentNode
    if (at !== null) return at
  }
  return null
}

/** Removes what the translator left where a text was before React moved it. */
function forget(wrapper: Element | null, text: Node): void {
  if (wrapper !== null && wrapper.textContent === '') wrapper.remove()
  standInOf(text)?.remove()
  standIns.delete(text)
}

/** Remembers the stand-ins of the texts that were taken out, from the changes of the document. */
function note(records: MutationRecord[]): void {
  const added = new Set<Node>()
  for (const r of records) for (const node of r.addedNodes) if (isFont(node)) added.add(node)
  if (added.size === 0) return
  /** Adds the first of the nodes that is new and stands for nothing yet. */
  const pair = (gone: Node, nodes: Iterable<Node | null>): boolean => {
    for (const node of nodes) {
      if (node === null || !added.delete(node)) continue
      standIns.set(gone, node as Element)
      return true
    }
    return false
  }
  for (const r of records) {
    for (const gone of r.removedNodes) {
      if (!(isText(gone) || isFont(gone)) || gone.parentNode !== null) continue
      // Put in its place at once, put before or after it first, or put between the same neighbors later.
      if (pair(gone, [...r.addedNodes, r.previousSibling, r.nextSibling])) continue
      for (const other of records) {
        const isThere = other.previousSibling === r.previousSibling && other.nextSibling === r.nextSibling
        if (isThere && other.target === r.target && pair(gone, other.addedNodes)) break
      }
    }
  }
}

/**
 * Lets browsers translate the page. React changes texts and removes nodes that it created, wherever a translator has put
 * them; the browser would refuse that, and React would then remove the whole page (github.com/facebook/react/issues/11538).
 * With this, such changes apply to what the translator shows instead: it is moved, removed, or replaced by the new text,
 * which the translator then translates.
 */
export function allowTranslation(): void {
  const { insertBefore, removeChild, appendChild } = Node.prototype
  const place = <T extends Node>(node: T, put: () => void): T => {
    const wrapper = isText(node) ? wrapperOf(node) : null
    put()
    if (isText(node)) forget(wrapper, node)
    return node
  }
  Node.prototype.insertBefore = function <T extends Node>(this: Node, node: T, before: Node | null): T {
    // If `before` is gone, the end is a better place than none.
    return place(node, () => insertBefore.call(this, node, before && shownIn(this, before)))
  }
  Node.prototype.appendChild = function <T extends Node>(this: Node, node: T): T {
    return place(node, () => appendChild.call(this, node))
  }
  Node.prototype.removeChild = function <T extends Node>(this: Node, node: T): T {
    if (node.parentNode === this) return removeChild.call(this, node) as T
    if (node.parentNode !== null && this.contains(node)) {
      const wrapper = wrapperOf(node)
      removeChild.call(node.parentNode, node)
      forget(wrapper, node)
    } else if (this.contains(standInOf(node) ?? null)) forget(null, node)
    return node
  }
  const value = Object.getOwnPropertyDescriptor(Node.prototype, 'nodeValue')
  if (value?.get && value.set) {
    const { get, set } = value
    Object.defineProperty(Node.prototype, 'nodeValue', {
      ...value,
      get,
      set(this: Node, text: string | null) {
        const standIn = standInOf(this)
        if (standIn?.parentNode) insertBefore.call(standIn.parentNode, this, standIn)
        if (standIn) forget(null, this)
        set.call(this, text)
      },
    })
  }
  new MutationObserver(note).observe(document, { childList: true, subtree: true })
}
