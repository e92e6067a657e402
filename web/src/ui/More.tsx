import { texts } from '../texts'
import { Button } from './Button'

interface Props {
  of: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
  className?: string
}

/** Reads the next part of a list that is read in parts; nothing when there is none. */
export function More({ of, className = '' }: Props) {
  if (!of.hasNextPage) return null
  return (
    <div className={`flex pt-3 ${className}`}>
      <Button busy={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
        {texts.ui.loadMore}
      </Button>
    </div>
  )
}
