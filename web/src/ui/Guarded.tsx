import { Component, type ReactNode } from 'react'
import { texts } from '../texts'
import { Button } from './Button'
import { Icon } from './Icon'

interface Props {
  /** Another value tries again by itself, such as the time of new data. */
  resetKey?: unknown
  children: ReactNode
}

/** A part of a page. If showing it fails, an error with a retry button takes its place, and the rest stays. */
export class Guarded extends Component<Props, { failed: boolean; resetKey: unknown }> {
  override state = { failed: false, resetKey: this.props.resetKey }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  static getDerivedStateFromProps({ resetKey }: Props, was: { resetKey: unknown }) {
    return resetKey === was.resetKey ? null : { failed: false, resetKey }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return (
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 p-3" role="alert">
        <span className="inline-flex items-center gap-1.5 text-danger">
          <Icon name="error" />
          {texts.ui.broken}
        </span>
        <Button icon="reload" onClick={() => this.setState({ failed: false })}>
          {texts.ui.tryAgain}
        </Button>
      </div>
    )
  }
}
