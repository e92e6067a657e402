// A small Markdown parser. It produces a dozen kinds of nodes; everything else, including HTML and images, is plain
// text, so that agents can't inject markup. It runs in linear time on any input: no regular expression here can match
// the same characters in several ways. (micromark needs seconds for 10,000 characters of list items, and micromark and
// marked overflow the stack at nested quotes; markdown-it does neither, but is larger than all of our first load can grow.)

import { deepest, type Inline, readInline, withoutEnd } from './inline'

export type { Inline } from './inline'
export { safeHref } from './inline'

export type Block =
  | { kind: 'paragraph'; of: Inline[] }
  | { kind: 'heading'; level: 3 | 4 | 5; of: Inline[] }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'quote'; of: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: { done: boolean | null; of: Block[] }[] }
  | { kind: 'table'; columns: Column[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' }

/** How the cells of a table's column are aligned. */
export type Column = 'left' | 'center' | 'right'

export function readMarkdown(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const blocks: Block[] = []
  let paragraph: string[] = []
  const close = () => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', of: readInline(paragraph.join('\n')) })
    paragraph = []
  }
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] ?? ''
    const fence = readFence(line)
    const heading = readHeading(line)
    const columns = columnsOf(paragraph.at(-1), line)
    if (fence) {
      close()
      const body: string[] = []
      for (i++; i < lines.length && !(lines[i] ?? '').trim().startsWith(fence.mark); i++) body.push(lines[i] ?? '')
      i++
      blocks.push({ kind: 'code', text: body.join('\n'), language: fence.language })
    } else if (heading) {
      close()
      blocks.push(heading)
      i++
    } else if (columns) {
      const [head = [], ...rows] = [paragraph.pop() ?? '', ...rowsAt(lines, i + 1)].map(row =>
        cellsOf(row)
          .slice(0, columns.length)
          .map(cell => readInline(cell)),
      )
      close()
      blocks.push({ kind: 'table', columns, head, rows })
      i += 1 + rows.length
    } else if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) {
      close()
      blocks.push({ kind: 'rule' })
      i++
    } else if (depth < deepest && /^ {0,3}>/.test(line)) {
      close()
      const body: string[] = []
      for (; i < lines.length && /^ {0,3}>/.test(lines[i] ?? ''); i++)
        body.push((lines[i] ?? '').replace(/^ {0,3}> ?/, ''))
      blocks.push({ kind: 'quote', of: readMarkdown(body.join('\n'), depth + 1) })
    } else if (depth < deepest && item.test(line)) {
      close()
      const [list, next] = readList(lines, i, depth)
      blocks.push(list)
      i = next
    } else {
      if (line.trim() === '') close()
      else paragraph.push(line.trimStart())
      i++
    }
  }
  close()
  return blocks
}

/** Reads the opening line of a fenced code block. */
function readFence(line: string): { mark: string; language: string } | null {
  const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)
  if (!mark?.[1]) return null
  const info = line.slice(mark[0].length).trim()
  if (info.includes('`')) return null
  return { mark: mark[1], language: /^[\w+#.-]*/.exec(info)?.[0] ?? '' }
}

/** Reads a heading of up to six #, with optional closing ones. */
function readHeading(line: string): Block | null {
  const marks = /^ {0,3}(#{1,6})\s/.exec(line)
  if (!marks?.[1]) return null
  const words = withoutEnd(line.slice(marks[0].length).trim(), '#').trimEnd()
  return { kind: 'heading', level: Math.min(5, marks[1].length + 2) as 3 | 4 | 5, of: readInline(words) }
}

/** Returns the columns of the table that a line of dashes below its head begins, or null if it begins none. */
function columnsOf(head: string | undefined, line: string): Column[] | null {
  if (!head?.includes('|') || !/^ {0,3}[|:-]/.test(line)) return null
  const marks = cellsOf(line)
  if (!marks.every(mark => /^:?-+:?$/.test(mark)) || cellsOf(head).length !== marks.length) return null
  return marks.map(mark => (!mark.endsWith(':') ? 'left' : mark.startsWith(':') ? 'center' : 'right'))
}

/** Returns the rows of a table, up to an empty line or the beginning of another block. */
function rowsAt(lines: string[], from: number): string[] {
  let end = from
  const goesOn = (line: string) => line.trim() !== '' && !item.test(line) && !/^ {0,3}(?:[>#]|```|~~~)/.test(line)
  while (end < lines.length && goesOn(lines[end] ?? '')) end++
  return lines.slice(from, end)
}

/** Splits a row of a table at its bars. A bar after a backslash is text. */
function cellsOf(row: string): string[] {
  const cells = row
    .trim()
    .replace(/^\|/, '')
    .split(/(?<!\\)\|/)
    .map(cell => cell.trim().replaceAll('\\|', '|'))
  if (cells.length > 1 && cells.at(-1) === '') cells.pop()
  return cells
}

const item = /^( {0,3})([-*+]|\d{1,9}[.)])\s+/

function readList(lines: string[], from: number, depth: number): [Block, number] {
  const first = item.exec(lines[from] ?? '')
  const ordered = /\d/.test(first?.[2] ?? '')
  const items: { done: boolean | null; of: Block[] }[] = []
  let i = from
  while (i < lines.length) {
    const found = item.exec(lines[i] ?? '')
    if (!found || /\d/.test(found[2] ?? '') !== ordered) break
    const inset = (found[1] ?? '').length + (found[2] ?? '').length + 1
    const body = [(lines[i] ?? '').slice(found[0].length)]
    for (i++; i < lines.length; i++) {
      const line = lines[i] ?? ''
      const indent = line.length - line.trimStart().length
      if (line.trim() !== '' && (indent >= Math.min(inset, 2) || (!item.test(line) && body.at(-1) !== ''))) {
        if (indent < Math.min(inset, 2) && /^ {0,3}(>|#|```)/.test(line)) break
        body.push(line.slice(Math.min(indent, inset)))
      } else if (line.trim() === '' && /^\s{2,}\S/.test(lines[i + 1] ?? '')) body.push('')
      else break
    }
    while (i < lines.length && (lines[i] ?? '').trim() === '' && item.test(lines[i + 1] ?? '')) i++
    const task = /^\[([ xX])\]\s+/.exec(body[0] ?? '')
    if (task) body[0] = (body[0] ?? '').slice(task[0].length)
    items.push({ done: task ? task[1] !== ' ' : null, of: readMarkdown(body.join('\n'), depth + 1) })
  }
  return [{ kind: 'list', ordered, start: Number.parseInt(first?.[2] ?? '1', 10) || 1, items }, i]
}
