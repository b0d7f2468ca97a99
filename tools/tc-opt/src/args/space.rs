//! Questions about search spaces.

/// `NAME=VALUE`; a truth value is 0 or 1.
fn define(text: &str) -> Result<(String, i64), String> {
    let wrong = || "expected NAME=VALUE, the value an integer, `true` or `false`".to_string();
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let value = match value {
        "true" => 1,
        "false" => 0,
        value => value.parse().map_err(|_| wrong())?,
    };
    Ok((name.to_string(), value))
}

/// Questions about search spaces.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Search spaces")]
pub struct SpaceArgs {
    /// Tell what the space of a schedule holds: choices, number of points, those valid on the target, why others are not
    #[arg(long, value_name = "SCHEDULE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["pass_pipeline", "split_input_file", "verify_diagnostics"])]
    pub list_space: Option<String>,

    /// Print the valid points of the space of a schedule, one a line, as `schedule{param="…"}` reads them
    #[arg(long, value_name = "SCHEDULE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["list_space", "pass_pipeline", "split_input_file", "verify_diagnostics", "output"])]
    pub list_space_points: Option<String>,

    /// Tell which point of this schedule's space each schedule without parameters is; the status is 1 if one is none
    #[arg(long, value_name = "SCHEDULE", require_equals = true)]
    #[arg(conflicts_with_all = ["list_space", "list_space_points", "pass_pipeline", "split_input_file"])]
    pub member_of: Option<String>,

    /// With --member-of, ask about this schedule alone
    #[arg(long, value_name = "SCHEDULE", require_equals = true, requires = "member_of")]
    #[arg(conflicts_with_all = ["list_space", "list_space_points"])]
    pub member: Option<String>,

    /// A value for a size or a parameter, with --list-space, --list-space-points and --member-of; a pipeline is told by
    /// `schedule{param="NAME=VALUE"}`
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = define, allow_hyphen_values = true)]
    pub defines: Vec<(String, i64)>,

    /// How many points of a space are judged or compared, from the first on
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub space_limit: u64,
}

impl SpaceArgs {
    /// Is a space asked about, instead of passes run?
    pub fn is_asked(&self) -> bool {
        self.list_space.is_some() || self.list_space_points.is_some() || self.member_of.is_some()
    }
}
