interface FormButtonsProps {
  /** What the form does, as its button says. */
  readonly action: string;
  readonly disabled: boolean;
  readonly onClose: () => void;
}

/** The end of each form in a dialog. */
export function FormButtons({ action, disabled, onClose }: FormButtonsProps) {
  return (
    <div class="buttons">
      <button type="button" onClick={onClose}>
        Leave it
      </button>
      <button type="submit" class="primary" disabled={disabled}>
        {action}
      </button>
    </div>
  );
}
