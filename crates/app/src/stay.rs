//! What sends models away that nobody uses: by the person's settings, or by the environment's word.

use std::time::Duration;

use plimsoll_engine::Keeping;
use plimsoll_os::Environment;
use plimsoll_wire::Settings;

/// Minutes, as the setting has them; goes before it, so that a service can be set without a page.
const VARIABLE: &str = "PLIMSOLL_IDLE_MINUTES";
const USUAL_MINUTES: u32 = 30;

pub(crate) fn keeping(settings: &Settings, environment: &Environment) -> Keeping {
    let told = environment.filled(VARIABLE).and_then(|text| text.parse().ok());
    let minutes: u32 = told.or(settings.idle_minutes).unwrap_or(USUAL_MINUTES);
    Keeping {
        idle_max: (minutes > 0).then(|| Duration::from_mins(minutes.into())),
        release_on_sleep: settings.release_on_sleep == Some(true),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_os::Environment;
    use plimsoll_wire::Settings;

    use super::keeping;

    #[test]
    fn the_environment_goes_before_the_setting_and_zero_is_for_ever() {
        let set = |idle_minutes| Settings {
            idle_minutes,
            ..Settings::default()
        };
        let said = |text: &str| Environment::from_pairs([("PLIMSOLL_IDLE_MINUTES", text)]);
        let stay = |settings: &Settings, environment: &Environment| keeping(settings, environment).idle_max;
        let minutes = |number| Some(Duration::from_mins(number));
        let nothing = Environment::default();
        assert_eq!(stay(&set(None), &nothing), minutes(30));
        assert_eq!(stay(&set(Some(5)), &nothing), minutes(5));
        assert_eq!(stay(&set(Some(0)), &nothing), None);
        assert_eq!(stay(&set(Some(5)), &said("2")), minutes(2));
        assert_eq!(stay(&set(Some(5)), &said("0")), None);
        assert_eq!(stay(&set(Some(5)), &said("soon")), minutes(5));
        let released = Settings {
            release_on_sleep: Some(true),
            ..set(None)
        };
        assert!(keeping(&released, &nothing).release_on_sleep);
        assert!(!keeping(&set(None), &nothing).release_on_sleep);
    }
}
