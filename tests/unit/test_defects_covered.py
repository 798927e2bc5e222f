"""Which tests show the better behavior for each known defect of the service's own client, by its catalog number."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent

COVERED: dict[int, dict[str, list[str]]] = {
    1: {"sdk/test_client_keys.py": ["test_the_key_that_is_passed_is_the_key_that_is_sent"]},
    2: {"sdk/test_client_keys.py": ["test_secrets_are_masked_in_errors_and_logs"],
        "sdk/test_sdk_secrets.py": ["test_nothing_secret_is_logged_even_at_debug"]},
    3: {"sdk/test_sdk_body.py": ["test_runtime_stays_with_its_own_function"]},
    4: {"sdk/test_sdk_body.py": ["test_metric_weights_are_sent_only_where_they_were_given"]},
    5: {"sdk/test_client_retry.py": ["test_calls_with_effects_are_sent_once",
                                     "test_retry_after_of_429_is_honoured"],
        "sdk/test_sdk_once.py": ["test_answer_lost_after_the_job_was_made"]},
    6: {"sdk/test_client_faults.py": ["test_error_inside_a_success_is_raised", "test_any_2xx_is_a_success"]},
    7: {"sdk/test_client_faults.py": ["test_http_status_wins_over_a_body_that_claims_success"]},
    8: {"sdk/test_client_functions.py": ["test_failed_layer_is_an_error_with_the_builds_words",
                                         "test_layer_that_is_never_ready_is_an_error",
                                         "test_empty_layer_code_is_not_accepted"]},
    9: {"sdk/test_client_keys.py": ["test_ids_cannot_leave_their_place"]},
    10: {"test_functions_package_plan.py": ["test_secret_names_are_left_out_and_reported", "test_links",
                                            "test_ignore_file_drops_and_brings_back"],
         "test_functions_package_checks.py": ["test_left_out_folder_that_code_imports_is_reported_with_its_line"]},
    11: {"sdk/test_sdk_facade.py": ["test_run_from_a_job_file_in_the_guides_order",
                                    "test_init_without_a_file_takes_the_plan_from_code"],
         "test_cli_defects.py": ["test_38_a_dry_run_shows_the_bodies_and_sends_nothing"]},
    12: {"sdk/test_client_functions.py": ["test_fault_of_a_function_is_shown_and_never_run_again",
                                          "test_failed_is_an_answer_and_not_a_success"]},
    13: {"sdk/test_sdk_facade.py": ["test_everything_is_checked_before_the_first_request",
                                    "test_bad_rows_stop_a_run_before_the_first_request"],
         "sdk/test_sdk_upload.py": ["test_given_id_wins_over_a_file_name"],
         "jobfile/test_jobfile_rules.py": ["test_rule"]},
    14: {"sdk/test_sdk_body.py": ["test_numbers_spelled_as_text_are_sent_as_numbers",
                                  "test_zero_false_and_empty_values_of_the_user_are_sent"]},
    15: {"sdk/test_client_faults.py": ["test_unreadable_success_is_a_bad_response"],
         "sdk/test_sdk_secrets.py": ["test_odd_answer_is_explained_wherever_it_comes"]},
    16: {"test_cli_defects.py": ["test_16_foreign_text_in_a_table_is_neither_markup_nor_escape",
                                 "test_16_foreign_text_comes_through_json_and_yaml_whole",
                                 "test_16_foreign_text_in_logs_and_errors"]},
    17: {"sdk/test_client_faults.py": ["test_timeout_names_endpoint_and_limit"]},
    18: {"sdk/test_client_keys.py": ["test_unknown_log_level_is_one_warning_and_no_failure"]},
    19: {"sdk/test_sdk_facade.py": ["test_two_clients_have_two_base_urls"],
         "sdk/test_client_keys.py": ["test_base_url_is_normalised_once"]},
    20: {"test_cli_defects.py": ["test_20_memory_does_not_grow_with_the_file"]},
    21: {"test_datasets_check.py": ["test_a_bad_line_is_placed", "test_invalid_utf8_has_its_column_in_characters"],
         "sdk/test_sdk_upload.py": ["test_single_name_is_one_file", "test_validation_files_alone_are_uploaded",
                                    "test_second_file_that_fails_leaves_the_id_of_the_first"]},
    22: {"sdk/test_sdk_register.py": ["test_requirements_file_that_was_named_is_the_one_that_is_sent"]},
    23: {"test_functions_package_plan.py": ["test_nothing_is_written_and_the_users_start_script_is_replaced"]},
    24: {"sdk/test_sdk_register.py": ["test_layer_is_built_once_for_all_and_its_code_is_loaded",
                                      "test_same_class_twice_is_packaged_and_registered_once"]},
    25: {"sdk/test_client_functions.py": ["test_package_put_is_repeated",
                                          "test_package_limit_is_checked_before_sending"],
         "sdk/test_sdk_register.py": ["test_no_archive_is_left_behind_by_a_failure"]},
    26: {"test_cli_defects.py": ["test_26_the_whole_life_cycle_has_verbs", "test_26_an_instance_has_logs_and_an_end",
                                 "test_26_another_page_is_asked_for"]},
    27: {"sdk/test_client_jobs.py": ["test_logs_start_at_the_first_line", "test_iter_logs_reads_to_the_end",
                                     "test_follow_gives_each_line_once_and_ends_after_the_last"]},
    28: {"sdk/test_client_jobs.py": ["test_wait_survives_losses_that_outlast_the_retries",
                                     "test_wait_has_a_limit_and_the_job_goes_on"],
         "sdk/test_client_sse.py": ["test_error_event_is_raised_with_its_payload", "test_standard_cases"]},
    29: {"sdk/test_client_faults.py": ["test_every_resource_gives_the_same_kind_of_error"]},
    30: {"sdk/test_sdk_facade.py": ["test_event_loop_goes_on_during_a_slow_submission"]},
    31: {"sdk/test_sdk_body.py": ["test_components_as_the_guide_writes_them"],
         "sdk/test_sdk_facade.py": ["test_run_from_code_as_the_guide_shows_it",
                                    "test_test_functions_takes_object_text_and_path"]},
    32: {"test_cli_defects.py": ["test_32_get_prints_every_known_field_by_its_own_name"]},
    33: {"test_cli_defects.py": ["test_33_the_list_is_a_row_a_job", "test_33_pages_that_there_are_not_are_refused"]},
    34: {"test_cli_defects.py": ["test_34_an_error_is_one_sentence_with_code_and_request_id"]},
    35: {"sdk/test_sdk_facade.py": ["test_no_key_is_told_at_once_everywhere"]},
    36: {"sdk/test_sdk_facade.py": ["test_paths_start_at_the_job_file"]},
    37: {"test_cli_defects.py": ["test_37_cancel_reports_on_stdout_and_in_json"]},
    38: {"test_cli_defects.py": ["test_38_on_a_terminal_it_is_asked_first",
                                 "test_38_a_dry_run_shows_the_bodies_and_sends_nothing",
                                 "test_38_progress_is_drawn_on_a_terminal_only"]},
    39: {"sdk/test_client_files.py": ["test_names_arrive_as_they_are"]},
    40: {"test_cli_defects.py": ["test_40_narration_first_the_error_last_and_stdout_clean"]},
    41: {"sdk/test_sdk_once.py": ["test_exact_name_is_sent_as_it_is_and_refused_the_second_time"]},
}  # fmt: skip


def test_every_number_of_the_catalog_has_an_entry() -> None:
    assert sorted(COVERED) == list(range(1, 42))


@pytest.mark.parametrize("number", COVERED)
def test_the_named_tests_exist(number: int) -> None:
    for file, names in COVERED[number].items():
        source = (HERE / file).read_text(encoding="utf-8")
        assert [name for name in names if f"def {name}(" not in source] == [], file
