/** Maximum number of remembered rows, more than change while a page of a list loads. */
const most = 2_000

/**
 * Remembers the latest version of each row, so that a list page that was requested earlier but arrives later doesn't
 * undo changes.
 */
export class Latest<T extends { id: string }> {
  private readonly rows = new Map<string, T | null>()
  private readonly newer: (next: T, was: T) => boolean

  /** `newer` returns whether the first row is a newer version than the second. */
  constructor(newer: (next: T, was: T) => boolean) {
    this.newer = newer
  }

  put(row: T): void {
    const was = this.rows.get(row.id)
    this.note(row.id, was && this.newer(was, row) ? was : row)
  }

  /** Marks a row as deleted. */
  drop(id: string): void {
    this.note(id, null)
  }

  clear(): void {
    this.rows.clear()
  }

  /** Returns the latest version of a row, or null if it was deleted. */
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
