const key = /(\b[A-Z]+-\d+\b)/

/** A text in which no line breaks at the hyphen of a task key. */
export const Keys = ({ children }: { children: string }) =>
  children.split(key).map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
      <span key={i} className="whitespace-nowrap">
        {part}
      </span>
    ),
  )
