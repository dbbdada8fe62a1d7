import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { copyText } from "@/lib/copy";

import { IconButton } from "./Button";
import { say } from "./Toasts";

export function CopyButton({
  label,
  text,
  className,
}: {
  label: string;
  text: () => string;
  className?: string;
}) {
  const { t } = useTranslation();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const back = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(back);
  }, [copied]);
  return (
    <IconButton
      label={copied ? t("app.copied") : label}
      size="sm"
      className={className}
      onClick={async () => {
        if (await copyText(text())) setCopied(true);
        else say(t("app.copyFailed"));
      }}
    >
      {copied ? <Check size={15} className="text-good-ink" /> : <Copy size={15} />}
    </IconButton>
  );
}
