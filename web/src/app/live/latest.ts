/** How many rows are remembered: more than change while one part of a list is read. */
const most = 2_000

/**
 * The rows that were put into the cache last, by their ids. A part of a list that
 * was asked for before and comes after would undo them.
 */
export class Latest<T extends { id: string }> {
  private readonly rows = new Map<string, T | null>()
  private readonly newer: (next: T, was: T) => boolean

  /** `newer` tells whether a row has become another since; not when it is merely read again. */
  constructor(newer: (next: T, was: T) => boolean) {
    this.newer = newer
  }

  put(row: T): void {
    const was = this.rows.get(row.id)
    this.note(row.id, was && this.newer(was, row) ? was : row)
  }

  /** A row is gone. */
  drop(id: string): void {
    this.note(id, null)
  }

  clear(): void {
    this.rows.clear()
  }

  /** What a row of a list has become meanwhile: itself as a rule, null when it is gone. */
  of(row: T): T | null {
    const known = this.rows.get(row.id)
    if (known === null) return null
    return known && this.newer(known, row) ? known : row
  }

  private note(id: string, row: T | null): void {
    this.rows.delete(id)
    this.rows.set(id, row)
    for (const oldest of this.rows.keys()) {
      if (this.rows.size <= most) return
      this.rows.delete(oldest)
    }
  }
}
